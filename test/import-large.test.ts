import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Sql } from 'postgres'
import { openDatabase } from '../src/postgres/database.ts'
import { sampleNdjson } from '../src/sample/generate.ts'
import { everything, importText, staleRecords, useDatabase } from './support/import.ts'
import { BACKENDS, openTestDatabase, type TestDatabase } from './support/service.ts'

setDefaultTimeout(300_000)

// More than what is loaded with its indexes and foreign keys in place.
const ASSESSMENTS = 22_000
const sample = [...sampleNdjson({ assessments: ASSESSMENTS })].join('')

/** Everything that a load may put off: definitions, and whether they hold. */
const definitions = (sql: Sql) => sql`
  select conname as name, pg_get_constraintdef(oid) as definition, convalidated as holds
  from pg_constraint where connamespace = current_schema()::regnamespace
  union all
  select indexrelid::regclass::text, pg_get_indexdef(indexrelid), indisvalid
  from pg_index where indrelid in (select oid from pg_class where relnamespace = current_schema()::regnamespace)
  union all
  select tgname::text, pg_get_triggerdef(oid), tgenabled = 'O' from pg_trigger where not tgisinternal
  order by 1, 2`

const without = (text: string, fragment: string) =>
  text
    .split('\n')
    .filter(line => !line.includes(fragment))
    .join('\n')

describe.each(BACKENDS)('a first load of %s that puts off indexes and foreign keys', backend => {
  const database = useDatabase(backend)

  test('leaves them as they were, and every record true', async () => {
    const { sql } = database
    const before = await definitions(sql)
    const [state] = await sql<{ version: string }[]>`select version from export_state`
    const phases = new Set<string>()
    const result = await importText(sql, sample, { onProgress: ({ phase }) => phases.add(phase) })
    expect(result).toMatchObject({ loaded: true, summary: { assessments: { inserted: ASSESSMENTS } } })
    expect([...phases]).toEqual(['reading', 'checking', 'loading', 'indexing', 'tidying'])
    expect(await definitions(sql)).toEqual(before)
    expect(await staleRecords(sql)).toBeEmpty()
    const unnoticed = await sql`
      select organization_id from export_records
      except select organization_id from organization_versions where version > ${state?.version ?? null}`
    expect(unnoticed).toBeEmpty()
  })
})

describe('a large load', () => {
  const database = useDatabase('postgres')

  test('is all undone when it is not kept', async () => {
    const { sql } = database
    const before = [await definitions(sql), await everything(sql)]
    await importText(sql, sample, { dryRun: true })
    expect(await importText(sql, `${sample}nonsense`)).toMatchObject({ loaded: false })
    expect([await definitions(sql), await everything(sql)]).toEqual(before)
  })

  test('leaves out what is bad, and nothing else', async () => {
    const { sql } = database
    const broken = without(sample, '"type":"product","id":3,')
    let rejects = 0
    const result = await importText(sql, broken, { onReject: () => void rejects++ })
    if (!result.loaded) throw new Error('nothing was loaded')
    expect(rejects).toBeGreaterThan(0)
    expect(result.summary.assessments?.inserted).toBe(ASSESSMENTS - rejects)
    expect(await staleRecords(sql)).toBeEmpty()
  })
})

describe('an import by a role that does not own the tables', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase('postgres')
  })
  afterAll(() => database.close())

  test('loads the same, with everything in place all the time', async () => {
    const { sql, url } = database
    const role = `axport_importer_${process.pid}`
    await sql.unsafe(`create role ${role} login password 'x'`)
    try {
      await sql.unsafe(`
        grant select, insert, update, delete on all tables in schema public to ${role};
        grant execute on all functions in schema public to ${role}`)
      const before = await definitions(sql)
      const own = new URL(url)
      own.username = role
      own.password = 'x'
      const limited = await openDatabase(own.href, 2)
      expect(await importText(limited.sql, sample)).toMatchObject({ loaded: true })
      await limited.close()
      expect(await definitions(sql)).toEqual(before)
      expect(await sql`select count(*)::int from export_records`).toEqual([{ count: ASSESSMENTS }] as never)
      expect(await staleRecords(sql)).toBeEmpty()
    } finally {
      await sql.unsafe(`drop owned by ${role}; drop role ${role}`)
    }
  })
})

describe('a large load while somebody reads the export', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase('postgres')
  })
  afterAll(() => database.close())

  test('does not wait for a reader who does not end', async () => {
    const { sql } = database
    const reader = await sql.reserve()
    await reader`begin`
    await reader`select count(*) from export_records`
    expect(await importText(sql, sample)).toMatchObject({ loaded: true })
    await reader`commit`
    reader.release()
    expect(await staleRecords(sql)).toBeEmpty()
  })
})

describe('a large load beside a writer who goes on from one table to the next', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase('postgres')
  })
  afterAll(() => database.close())

  test('gives way to that writer, and loads everything', async () => {
    const { sql } = database
    const writer = await sql.reserve()
    await writer`begin`
    await writer`update users set name = name`
    const load = importText(sql, sample)
    for (let waits = false; !waits; ) {
      const rows = await sql`
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like 'alter table%'`
      waits = rows.length > 0
    }
    // The load has this table and waits for the other one.
    await writer`update assessments set legacy_record = true`
    await writer`commit`
    writer.release()
    expect(await load).toMatchObject({ loaded: true, summary: { assessments: { inserted: ASSESSMENTS } } })
    expect(await staleRecords(sql)).toBeEmpty()
  })
})
