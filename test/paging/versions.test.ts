import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { migrate } from '../../src/postgres/migrate.ts'
import { MIGRATIONS } from '../../src/postgres/migrations.ts'
import { setTimeZone } from '../../src/postgres/time-zone.ts'
import { emptyDatabase } from '../support/cluster.ts'
import { importLines } from '../support/import.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { ORGANIZATIONS, reset } from './world.ts'

/** What the versions promise to whoever remembers something at one of them. */

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase('postgres')
})
afterAll(() => database?.close())
beforeEach(async () => {
  await database.sql`update export_state set version = 1`
  await reset(database.sql, 120)
})

/** The present version, and the one of each organization. */
async function versions(sql: Sql = database.sql): Promise<{ now: bigint; of: Map<number, bigint> }> {
  const [state] = await sql<{ version: string }[]>`select version from export_state`
  const rows = await sql<{ id: string; version: string }[]>`
    select organization_id as id, version from organization_versions order by organization_id`
  return {
    now: BigInt(state?.version ?? 0),
    of: new Map(rows.map(row => [Number(row.id), BigInt(row.version)])),
  }
}

/** The organizations of which `work` has changed the version; each has got one above all that there were. */
async function changedBy(work: () => Promise<unknown>): Promise<number[]> {
  const before = await versions()
  await work()
  const after = await versions()
  const changed = [...after.of].filter(([id, version]) => version !== before.of.get(id))
  for (const [, version] of changed) {
    expect(version).toBeGreaterThan(before.now)
    expect(version).toBeLessThanOrEqual(after.now)
  }
  expect(after.now > before.now).toBe(changed.length > 0)
  return changed.map(([id]) => id).sort()
}

const run = (statement: string) => () => database.sql.unsafe(statement)

describe('the organizations that get a new version are', () => {
  test.each<[string, string, number[]]>([
    [
      'that of a changed record',
      `update assessments set certified_at = certified_at + interval '9 days' where id = 10`,
      [2],
    ],
    ['that of a deleted one', 'delete from assessments where id = 20', [3]],
    [
      'that of a record whose last part is deleted',
      'delete from assessment_parts where assessment_id = 30',
      [4],
    ],
    ['those of both when a record moves', 'update assessments set organization_id = 6 where id = 10', [2, 6]],
    [
      'that of a new one',
      `with a as (insert into assessments values (7001, 1, 5, 1, now(), false) returning id)
      insert into assessment_parts select id, id, 1, null, null, 2 from a`,
      [5],
    ],
    [
      'those of all records that show a renamed product',
      `update products set name = 'New' where id = 1`,
      [1, 2, 3],
    ],
    ['that of a renamed organization', `update organizations set name = 'New' where id = 4`, [4]],
    ['none when a rename changes nothing', 'update users set name = name', []],
    ['none when no record changes', 'update assessments set user_id = user_id', []],
    ['none when there is nothing to change', 'delete from assessments where id = -1', []],
    [
      'that of a record written straight into the read model',
      'update export_records set document = document where id = 10',
      [2],
    ],
    [
      'those of records that are merged',
      `merge into export_records r using (values (10), (20)) as of (id) on r.id = of.id
      when matched and r.id = 10 then delete when matched then update set certified_on = certified_on + 1`,
      [2, 3],
    ],
    ['all of them when the read model is emptied', 'truncate export_records', ORGANIZATIONS],
    ['all of them when the source is', 'truncate assessments cascade', ORGANIZATIONS],
  ])('%s', async (_, statement, organizations) => {
    expect(await changedBy(run(statement))).toEqual(organizations)
  })

  test('those of all records that another time zone moves', async () => {
    expect(await changedBy(() => setTimeZone(database.sql, 'Pacific/Kiritimati'))).toEqual(ORGANIZATIONS)
  })

  test('those of the lines of an import that differ', async () => {
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

  test('none when it is undone', async () => {
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

describe('a version', () => {
  const write = run('update assessments set legacy_record = not legacy_record where id = 10')

  test('is the time of the change, in microseconds', async () => {
    const clock = async () =>
      (
        await database.sql<{ at: string }[]>`
          select (extract(epoch from clock_timestamp()) * 1000000)::bigint as at`
      )[0]?.at ?? ''
    const [before, , after] = [await clock(), await write(), await clock()]
    const { now } = await versions()
    expect(now).toBeGreaterThanOrEqual(BigInt(before))
    expect(now).toBeLessThanOrEqual(BigInt(after))
  })

  test('is one more than the last where that is ahead of the clock', async () => {
    await database.sql`update export_state set version = 9000000000000000`
    await write()
    expect((await versions()).now).toBe(9000000000000001n)
    await write()
    expect((await versions()).now).toBe(9000000000000002n)
  })

  test('does not come round again when the database is set back and goes on', async () => {
    const { now: old } = await versions()
    await write()
    const { now: lost } = await versions()
    await database.sql`update export_state set version = ${old.toString()}`
    await write()
    expect((await versions()).now).toBeGreaterThan(lost)
  })

  test('is another one for each statement, however fast they follow each other', async () => {
    const seen = new Set<bigint>()
    await database.sql.begin(async sql => {
      for (let time = 0; time < 200; time++) {
        await sql`update assessments set legacy_record = not legacy_record where id = 10`
        seen.add((await versions(sql as unknown as Sql)).now)
      }
    })
    expect(seen.size).toBe(200)
    expect([...seen]).toEqual([...seen].sort((a, b) => (a < b ? -1 : 1)))
  })

  test('is committed in the order in which writers get theirs, whatever tables they write', async () => {
    const order: bigint[] = []
    const writers = [1, 2, 3, 4, 5].map(organization =>
      database.sql.begin(async sql => {
        await sql`update assessments set legacy_record = not legacy_record where organization_id = ${organization}`
        const { now } = await versions(sql as unknown as Sql)
        order.push(now)
        // Nobody else gets a version before this one is committed; a while, so that somebody could.
        await sql`select pg_sleep(0.01)`
        expect(order.at(-1)).toBe(now)
      }),
    )
    await Promise.all(writers)
    expect(order).toEqual([...order].sort((a, b) => (a < b ? -1 : 1)))
  })
})

test('a database with records that is brought up to date gives each organization the version that there is', async () => {
  const { url, drop } = await emptyDatabase()
  const sql = postgres(url, { max: 2, onnotice: () => {} })
  try {
    await migrate(sql, MIGRATIONS.slice(0, 3))
    await reset(sql, 60)
    await sql`
      insert into integrations (client_id, name, organization_ids, product_ids) values ('c', 'C', '{1,2}', '{3}')`
    await migrate(sql)
    const { now, of } = await versions(sql)
    expect([...of]).toEqual(ORGANIZATIONS.map(id => [id, now]))
    expect(now).toBeGreaterThan(1_700_000_000_000_000n)
    const [row] = await sql`
      select scope_digest, scope_digest('{1,2}', '{3}') as expected from integrations`
    expect(row?.scope_digest).toBe(row?.expected)
  } finally {
    await sql.end()
    await drop()
  }
})
