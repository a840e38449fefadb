import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Recorder } from '../../src/app/recorder.ts'
import { openDatabase } from '../../src/database/database.ts'
import { createIntegration } from '../../src/integrations/credentials.ts'
import { world } from '../support/fixtures.ts'
import { load, openTestDatabase, type TestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'

let database: TestDatabase
let clientId: string
beforeAll(async () => {
  database = await openTestDatabase()
  await load(database.sql, world())
  ;({ clientId } = await createIntegration(database.sql, 'One', 'all', 'all'))
})
afterAll(() => database.close())

const BOUNDS = { size: 2, waitMs: 5000, statementMs: 5000, slowMs: 5000 }
const LOG = { info: () => {}, warn: () => {} }

const disclosure = () => ({
  key: Bun.randomUUIDv7(),
  requestId: 'one',
  address: undefined,
  clientId,
  assessments: '{}',
  people: '{}',
  filters: [],
})

test('each request waits for a recording until its own deadline, although the statement goes on', async () => {
  const opened = await openDatabase(database.url, 1)
  const db = opened.pool(BOUNDS, LOG)
  const recorder = new Recorder(db)
  const before = (await database.sql`select from disclosures`).count
  const { signal } = new AbortController()
  const record = (ms: number) => recorder.record(disclosure(), { signal, deadline: performance.now() + ms })
  const lock = await database.sql.reserve()
  await lock`begin`
  await lock`lock table disclosures in share mode`
  const patient = record(60_000)
  // It waits for the statement of the first, and leaves before it has one of its own.
  await expect(record(300)).rejects.toThrow('it took too long')
  await lock`rollback`
  lock.release()
  await patient
  expect((await database.sql`select from disclosures`).count).toBe(before + 1)
  await db.close()
  await opened.close()
})

test('a recording whose answer came while the process was stopped past the deadline counts as recorded', async () => {
  const { sql } = database
  const opened = await openDatabase(database.url, 1)
  const db = opened.pool(BOUNDS, LOG)
  const recorder = new Recorder(db)
  // The server itself ends the lock, while this process does nothing.
  const locked = sql
    .unsafe('do $$ begin lock table disclosures in share mode; perform pg_sleep(1); end $$')
    .execute()
  await until('it is locked', async () => {
    const { count } =
      await opened.sql`select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`
    return count === 1
  })
  const deadline = performance.now() + 1000
  const recorded = recorder.record(disclosure(), { signal: new AbortController().signal, deadline })
  await until('the recording waits', async () => {
    const { count } = await opened.sql`select from pg_locks where not granted`
    return count === 1
  })
  Bun.sleepSync(2000)
  expect(performance.now()).toBeGreaterThan(deadline)
  await recorded
  await locked
  await db.close()
  await opened.close()
})
