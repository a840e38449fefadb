import { beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import type { TransactionSql } from 'postgres'
import { useTestDatabase } from '../support/hooks.ts'
import { undone } from './source.ts'

/**
 * Decoy tables with the names of the project's tables, which a writer's search_path finds first: in a schema
 * named like the writer's role ("$user" in search_path), and among temporary tables.
 */
const PLACES = ['a schema of its own', 'temporary tables'] as const

/** A write, and the text that the records must contain afterwards. */
const WRITES: [write: string, shown: string][] = [
  [`update public.users set name = 'Renamed' where id = 1`, '"name":"Renamed"'],
  [`update public.users set name = 'Renamed' where id = 2`, '"proctor_name":"Renamed"'],
  [`update public.organizations set name = 'Renamed'`, '"organization_name":"Renamed"'],
  [`update public.products set name = 'Renamed'`, '"assessment_name":"Renamed"'],
  [`update public.assessments set certified_at = '2020-02-02'`, '"certified_on":"2020-02-02"'],
  [`update public.assessment_parts set proctor_id = 1`, '"proctor_id":1'],
  [
    `insert into public.assessment_parts values (2, 2, 1, null, null, 2);
     insert into public.assessments values (2, 1, 1, 1, now())`,
    '"id":2',
  ],
]

describe('a writer whose search_path finds other tables with the same names first', () => {
  const db = useTestDatabase()
  beforeAll(async () => {
    await db.sql.unsafe(`
      insert into organizations values (1, 'Lakeside'); insert into products values (1, 'Reading');
      insert into users (id, name) values (1, 'Ana Ruiz'), (2, 'Pia Proctor');
      insert into assessments values (1, 1, 1, 1, now());
      insert into assessment_parts values (1, 1, 1, null, null, 2)`)
  })

  const writes = PLACES.flatMap(place => WRITES.map(([write, shown]) => ({ place, write, shown })))

  test.each(writes)('in $place, changes the records by: $write', async ({ place, write, shown }) => {
    const { documents, different } = await undone(db.sql, async sql => {
      await becomeLoader(sql, place)
      await sql.unsafe(`set constraints all deferred; ${write}`)
      await sql`reset role`
      await sql`set local search_path = public`
      const documents = await sql<
        { document: string }[]
      >`select document from public.export_records order by id`
      const different = await sql`
        select from public.export_records r full join public.export_records_rendered v on v.id = r.id
        where r is distinct from v`
      return { documents: documents.map(row => row.document).join('\n'), different: different.length }
    })
    expect(documents).toContain(shown)
    expect(different).toBe(0)
  })

  test.each(PLACES)('in %s, deletes the right records and no others', async place => {
    const left = await undone(db.sql, async sql => {
      await sql`insert into assessments values (2, 1, 1, 1, now())`
      await sql`insert into assessment_parts values (2, 2, 1, null, null, 2)`
      await becomeLoader(sql, place)
      await sql`delete from public.assessments where id = 1`
      return [...(await sql<{ id: string }[]>`select id from public.export_records`)]
    })
    expect(left).toEqual([{ id: '2' }])
  })

  /** From here on the transaction runs as a role with the privileges of a loader, which owns the decoys. */
  async function becomeLoader(sql: TransactionSql, place: (typeof PLACES)[number]): Promise<void> {
    const role = `axport_test_${randomBytes(6).toString('hex')}`
    await sql.unsafe(`
      create role ${role}; create schema ${role} authorization ${role};
      grant all on all tables in schema public to ${role}; set local role ${role};
      set local search_path = "$user", public`)
    const tables = await sql<{ name: string }[]>`
      select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`
    for (const { name } of tables) {
      await sql.unsafe(
        place === 'temporary tables'
          ? `create temporary table ${name} (like public.${name}) on commit drop`
          : `create table ${role}.${name} (like public.${name})`,
      )
    }
  }
})
