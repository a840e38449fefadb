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
    'analyze_table',
    'export_names_changed',
    'export_records_changed',
    'export_records_counted',
    'note_backup',
    'purge_disclosures',
    'record_disclosure',
    'refresh_export_counts',
    'renew_export_version',
  ])
  expect(owned.filter(({ isForEverybody }) => isForEverybody)).toEqual([])
})

test('what the rendering of records calls may run in parallel workers', async () => {
  const called = await db.sql`
    select distinct proname as name, proparallel = 's' as "isSafe"
    from pg_rewrite
    join pg_depend on objid = pg_rewrite.oid and classid = 'pg_rewrite'::regclass
    join pg_proc on pg_proc.oid = refobjid and refclassid = 'pg_proc'::regclass
    where ev_class = 'export_records_rendered'::regclass`
  expect([...called]).toEqual([{ name: 'erased_person', isSafe: true }])
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

/** Inserts this many records, alternating between two organizations. */
const added = (count: number) => `
  insert into export_records
  select n, n % 2, 1, 1, null, false, false, '{1}', '2024-01-01', 'a', 'b', 'c', '{}' from generate_series(1, ${count}) n`

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
