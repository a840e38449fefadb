import { beforeEach, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Sql } from 'postgres'
import { useTestDatabase } from '../../support/hooks.ts'
import { importLines } from '../../support/import.ts'
import { Floors, holds } from '../../support/property.ts'
import { anyWrite, ORGANIZATIONS, reset, write } from './world.ts'

/** The contents of the log of changes, by which counts and cursors are corrected. */

const database = useTestDatabase()
beforeEach(() => reset(database.sql, 120))

interface Logged {
  position: string
  tag: string
  delta: number | null
  id: string | null
  organization: number | null
  search: string | null
}

const log = async (sql: Sql = database.sql) => [
  ...(await sql<Logged[]>`
    select position, tag, delta, id, organization_id::integer as organization, search_text as search
    from export_changes order by position`),
]

/** The rows of the log that `work` added. */
async function loggedBy(work: () => Promise<unknown>): Promise<Logged[]> {
  const before = new Set((await log()).map(row => row.position))
  await work()
  return (await log()).filter(row => !before.has(row.position))
}

/**
 * The organizations that `work` logged; 0 stands for all. A delta of 0 means that only a document changed.
 */
async function changedBy(work: () => Promise<unknown>): Promise<number[]> {
  const rows = (await loggedBy(work)).filter(row => row.delta !== 0)
  return [...new Set(rows.map(row => row.organization ?? 0))].sort()
}

const run = (statement: string) => () => database.sql.unsafe(statement)

describe('the log of changes names', () => {
  test.each<[string, number[], string]>([
    [
      'the organization of a changed record',
      [2],
      `update assessments set certified_at = now() where id = 10`,
    ],
    ['the organization of a deleted record', [3], 'delete from assessments where id = 20'],
    [
      'the organization of a record whose last part is deleted',
      [4],
      'delete from assessment_parts where id = 30',
    ],
    [
      'both organizations of a record that moves',
      [2, 6],
      'update assessments set organization_id = 6 where id = 10',
    ],
    [
      'all organizations with records of a renamed product',
      [1, 2, 3],
      `update products set name = 'New' where id = 1`,
    ],
    ['no organization if only the documents change', [], `update organizations set name = 'New'`],
    ['no organization if a rename changes nothing', [], 'update users set name = name'],
    ['no organization if no record changes', [], 'update assessments set user_id = user_id'],
    ['no organization if no row matches', [], 'delete from assessments where id = -1'],
    [
      'the organization of a record updated in the read model itself',
      [2],
      'update export_records set certified_on = now() where id = 10',
    ],
    [
      'the organizations of records changed by merge',
      [2, 3],
      `merge into export_records r using (values (10), (20)) as of (id) on r.id = of.id
      when matched and r.id = 10 then delete when matched then update set certified_on = certified_on + 1`,
    ],
    ['all organizations (0) if the read model is truncated', [0], 'truncate export_records'],
    ['all organizations if the source tables are truncated', ORGANIZATIONS, 'truncate assessments cascade'],
    [
      'all organizations if the time zone changes',
      ORGANIZATIONS,
      `update export_state set time_zone = 'Pacific/Niue'`,
    ],
  ])('%s', async (_, organizations, statement) => {
    expect(await changedBy(run(statement))).toEqual(organizations)
  })

  test('the organizations of the lines of an import that differ from the stored rows', async () => {
    const line = { type: 'assessment', user_id: 1, product_id: 1, certified_at: '2025-05-05', proctor_id: 1 }
    const load = () =>
      importLines(
        database.sql,
        { ...line, id: 8001, organization_id: 1 },
        { ...line, id: 8002, organization_id: 3 },
      )
    expect(await changedBy(load)).toEqual([1, 3])
    expect(await changedBy(load)).toEqual([])
  })

  test('no organization if the transaction is rolled back', async () => {
    const undone = () =>
      database.sql
        .begin(async sql => {
          await sql`delete from assessments where organization_id = 1`
          throw new Error('undone')
        })
        .catch(() => {})
    expect(await changedBy(undone)).toEqual([])
  })
})

describe('the log of changes', () => {
  test('has the old and the new row, so that a renamed person leaves one search and enters another', async () => {
    const rows = await loggedBy(
      run(`update users set first_name = 'ZOË', last_name = E'Two\nLines' where id = 1`),
    )
    const logged = (delta: number) => new Set(rows.filter(row => row.delta === delta).map(row => row.search))
    const of = (name: string) => new Set([0, 1, 2].map(n => `${name}\nproduct ${n}`))
    expect([logged(-1), logged(1)]).toEqual([of('ana\nruiz'), of('zoë\ntwo lines')])
    expect(rows.filter(row => row.delta === 1)).toHaveLength(rows.length / 2)
  })

  test('equals the difference of the read model, for any write', async () => {
    const columns = `id, organization_id, product_id, user_id, seid, is_archived, legacy_record, proctor_ids,
      certified_on, user_name_key, proctor_name_key, product_name_key`
    const records = async () =>
      (
        await database.sql.unsafe<{ row: string }[]>(
          `select (${columns}, search_text_of(document))::text as row from export_records`,
        )
      ).map(({ row }) => row)
    const floors = new Floors({ 'changed records': 0.3 })
    const property = fc.asyncProperty(anyWrite, async next => {
      const before = await records()
      const rows = await loggedBy(() => write(database.sql, next))
      if (rows.some(row => row.delta === null)) return
      const after = await records()
      const deltas = await database.sql.unsafe<{ row: string; delta: number }[]>(
        `select (${columns}, search_text)::text as row, sum(delta)::integer as delta
         from export_changes where position = any ($1::bigint[]) group by 1 having sum(delta) <> 0`,
        [rows.map(row => row.position)],
      )
      const expected = [
        ...before.filter(row => !after.includes(row)).map(row => `-1 ${row}`),
        ...after.filter(row => !before.includes(row)).map(row => `1 ${row}`),
      ]
      expect(deltas.map(({ row, delta }) => `${delta} ${row}`).sort()).toEqual(expected.sort())
      if (expected.length > 0) floors.reached('changed records')
    })
    await holds(property, { runs: 20, thorough: 30, floors })
  })

  test('has one row per organization for 1,000 or more changes', async () => {
    const load = (records: number) =>
      run(`insert into export_records
        select 100000 * ${records} + n, 1 + n % 2, product_id, user_id, seid, is_archived, legacy_record, proctor_ids, certified_on,
          user_name_key, proctor_name_key, product_name_key, document
        from generate_series(1, ${records}) n, export_records where id = 10`)
    expect(await loggedBy(load(999))).toHaveLength(999)
    const rows = await loggedBy(load(1000))
    expect(rows.map(row => [row.delta, row.organization]).sort()).toEqual([
      [null, 1],
      [null, 2],
    ])
  })

  test('keeps only the newest 10,000 rows', async () => {
    await database.sql`
      insert into export_changes (organization_id) select 1 from generate_series(1, 10500)`
    await run('update assessments set legacy_record = not legacy_record where id = 10')()
    const rows = await log()
    expect(rows.length).toBeLessThanOrEqual(10_000)
    expect(rows.at(-1)).toMatchObject({ delta: 1, id: '10' })
  })

  test('has a random tag in each row', async () => {
    await run('update assessments set legacy_record = not legacy_record')()
    const tags = (await log()).map(row => row.tag)
    expect(new Set(tags).size).toBe(tags.length)
  })

  test('is committed in the order of positions, by writers of any table', async () => {
    const order: bigint[] = []
    const writes = [
      'update assessments set legacy_record = not legacy_record where organization_id = 1',
      'update assessment_parts set proctor_id = 1 + proctor_id % 9 where id = 50',
      `update users set first_name = 'Other' where id = 3`,
      `update products set name = 'New' where id = 2`,
      `update organizations set name = 'New' where id = 4`,
      'update export_records set certified_on = certified_on + 1 where id = 60',
    ]
    const writers = writes.map(statement =>
      database.sql.begin(async sql => {
        await sql.unsafe(statement)
        const newest = BigInt((await log(sql as unknown as Sql)).at(-1)?.position ?? 0)
        order.push(newest)
        // No other writer logs a change before this commit. The pause would let another writer do so.
        await sql`select pg_sleep(0.01)`
        expect(order.at(-1)).toBe(newest)
      }),
    )
    await Promise.all(writers)
    expect(order).toEqual([...order].sort((a, b) => (a < b ? -1 : 1)))
  })
})

test('a writer needs no privilege on the log of changes, which is written with the privileges of its owner', async () => {
  const undone = new Error('undone')
  const writing = database.sql.begin(async sql => {
    await sql.unsafe(`create role log_writer;
      grant select, insert, update, delete on all tables in schema public to log_writer;
      revoke all on export_changes from log_writer;
      set local role log_writer`)
    await sql`update users set first_name = 'Other' where id = 1`
    throw undone
  })
  expect(await writing.catch(error => error)).toBe(undone)
})
