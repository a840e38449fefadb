import { expect, test } from 'bun:test'
import { useTestDatabase } from '../support/hooks.ts'
import { START, undone } from './source.ts'

/** The functions of the schema, called by any role. */

const db = useTestDatabase()

interface Function {
  name: string
  settings: string[] | null
  hasOwnersRights: boolean
  isForEverybody: boolean
  isPlainSql: boolean
}

const functions = () =>
  db.sql<Function[]>`
    select proname as name, proconfig as settings, prosecdef as "hasOwnersRights",
      has_function_privilege('public', oid, 'execute') as "isForEverybody", prosqlbody is not null as "isPlainSql"
    from pg_proc
    where pronamespace = 'public'::regnamespace
      and not exists (select from pg_depend where objid = pg_proc.oid and deptype = 'e')
    order by proname`

test('every function that resolves names sets its own search_path, with temporary tables last', async () => {
  const named = (await functions()).filter(({ isPlainSql }) => !isPlainSql)
  expect(named.length).toBeGreaterThan(10)
  for (const { name, settings } of named)
    expect({ name, settings: settings ?? [] }).toEqual({
      name,
      settings: expect.arrayContaining(['search_path=public, pg_temp']),
    })
})

test('nine functions run with the privileges of their owner, and PUBLIC cannot call them', async () => {
  const owned = (await functions()).filter(({ hasOwnersRights }) => hasOwnersRights)
  expect(owned.map(({ name }) => name)).toEqual([
    'export_records_changed',
    'export_records_counted',
    'log_any_change',
    'note_integration',
    'note_secret',
    'purge_disclosures',
    'record_disclosure',
    'refresh_export_counts',
    'refuse_erased',
  ])
  expect(owned.filter(({ isForEverybody }) => isForEverybody)).toEqual([])
})

test('the search text of a record has its names in lower case, one per line', async () => {
  const document = { first_name: 'Ána\nMaría', last_name: 'ΟΔΟΣ', assessment_name: 'Reading\nI' }
  const [row] = await db.sql`select search_text_of(${JSON.stringify(document)}) as text`
  expect(row?.text).toBe('ána maría\nοδοσ\nreading i')
})

test('a writer of the read model waits in the queue of writers, even if it wrote to no source table', async () => {
  const [row] = await undone(db.sql, async sql => {
    await sql.unsafe(START.replace('rollback;', ''))
    await sql`select set_config('axport.queued', '', true)`
    await sql`delete from export_records`
    return sql`select current_setting('axport.queued') = pg_current_xact_id()::text as is_queued`
  })
  expect(row?.is_queued).toBe(true)
})

test('a refresh of records waits in the queue of writers before it reads, even if no record has changed', async () => {
  const [row] = await undone(db.sql, async sql => {
    await sql.unsafe(START.replace('rollback;', ''))
    await sql`select set_config('axport.queued', '', true), refresh_export_records(array[1])`
    return sql`select current_setting('axport.queued') = pg_current_xact_id()::text as is_queued`
  })
  expect(row?.is_queued).toBe(true)
})

/**
 * The rows that a statement on the read model adds to the log, grouped: their number, delta and organization.
 */
const logged = (statement: string) =>
  undone(db.sql, async sql => {
    const [{ position } = { position: 0 }] = await sql`select max(position) as position from export_changes`
    await sql.unsafe(statement)
    const rows = await sql<{ delta: number | null; organization: string | null; count: number }[]>`
      select delta, organization_id as organization, count(*)::int as count
      from export_changes where position > ${position} group by 1, 2 order by 2, 1`
    return rows.map(({ delta, organization, count }) => [delta, organization, count])
  })

/** Inserts this many records, alternating between two organizations. */
const added = (count: number) => `
  insert into export_records
  select n, n % 2, 1, 1, null, false, false, '{1}', '2024-01-01', 'a', 'b', 'c', '{}' from generate_series(1, ${count}) n`

test('a statement that changes 1,000 records logs one row per organization, and a smaller one logs each record', async () => {
  expect(await logged(added(998))).toEqual([
    [1, '0', 499],
    [1, '1', 499],
  ])
  for (const count of [1000, 1001, 2500]) {
    expect(await logged(added(count))).toEqual([
      [null, '0', 1],
      [null, '1', 1],
    ])
  }
  const half = `${added(500)}; update export_records set product_id = 2`
  expect(await logged(half)).toEqual([
    [1, '0', 250],
    [null, '0', 1],
    [1, '1', 250],
    [null, '1', 1],
  ])
})

test('log_any_change() and a truncate of the read model log the row that stands for any change', async () => {
  expect(await logged('select log_any_change()')).toEqual([[null, null, 1]])
  expect(await logged('truncate export_records')).toEqual([[null, null, 1]])
})

test('the log of changes always has a row, and at most 10,000 rows', async () => {
  const count = (sql: typeof db.sql) =>
    sql<{ count: number }[]>`select count(*)::int as count from export_changes`
  expect([...(await count(db.sql))]).toEqual([{ count: 1 }])
  const [after] = await undone(db.sql, async sql => {
    await sql`insert into export_changes (delta) select 0 from generate_series(1, 10100)`
    await sql.unsafe(START.replace('rollback;', ''))
    return count(sql as unknown as typeof db.sql)
  })
  expect(after?.count).toBe(10_000)
})

/** The counts after statements on the read model, as "organization, product: records". */
const counted = (...statements: string[]) =>
  undone(db.sql, async sql => {
    for (const statement of statements) await sql.unsafe(statement)
    const rows = await sql`select * from export_counts order by 1, 2`
    return rows.map(row => `${row.organization_id}, ${row.product_id}: ${row.records}`)
  })

test('each statement updates the counts by organization and product, and removes counts of zero', async () => {
  const first = added(2500)
  expect(await counted(first)).toEqual(['0, 1: 1250', '1, 1: 1250'])
  expect(await counted(first, `update export_records set document = '[]', seid = 'x'`)).toEqual([
    '0, 1: 1250',
    '1, 1: 1250',
  ])
  const moved = [
    first,
    'update export_records set organization_id = 1, product_id = 1 + id % 2 where id <= 2000',
  ]
  expect(await counted(...moved)).toEqual(['0, 1: 250', '1, 1: 1250', '1, 2: 1000'])
  expect(await counted(...moved, 'delete from export_records where id <= 2001')).toEqual([
    '0, 1: 250',
    '1, 1: 249',
  ])
  expect(await counted(first, 'delete from export_records where organization_id = 0')).toEqual(['1, 1: 1250'])
  expect(await counted(first, 'truncate export_records')).toEqual([])
})

test('a count that is too low after writes without triggers does not make later writes fail', async () => {
  const wrong = [
    added(10),
    'update export_counts set records = 1 where organization_id = 0; delete from export_counts where organization_id = 1',
  ]
  expect(await counted(...wrong, 'delete from export_records where id > 4')).toEqual([])
  expect(await counted(...wrong, 'select refresh_export_counts(array[1])')).toEqual(['0, 1: 1', '1, 1: 5'])
})
