import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { ServingDatabase } from '../../src/database/pool/serving-database.ts'
import { NO_LOG, ONE, PATIENT } from '../support/lease.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.close())

const PLAIN = { prepare: false }

/** Sends statements that run until they are cancelled. */
function occupy(db: ServingDatabase, lane: string, count: number): AbortController {
  const client = new AbortController()
  for (let at = 0; at < count; at++)
    Promise.resolve(db.forRequest(client, lane).unsafe('select pg_sleep(60)', [], PLAIN)).catch(() => {})
  return client
}

const sleeping = async () =>
  (
    await database.sql`
      select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`
  ).count

test.each([
  [1, 1],
  [2, 1],
  [3, 1],
  [4, 2],
  [10, 8],
])('of %i connections an integration holds %i, and others take the rest at once', async (size, most) => {
  const db = database.pool({ ...ONE, size, statementMs: 60_000 }, NO_LOG)
  const greedy = occupy(db, 'greedy', 20)
  await until('it has all that it may have', async () => (await sleeping()) === most)
  const another = () => db.forRequest(PATIENT, 'another').unsafe('select 1 as one', [], PLAIN)
  const recording = () => db.forRequest(PATIENT, 'disclosures:').unsafe('select 1 as one', [], PLAIN)
  const token = () => db.unsafe('select 1 as one', [], PLAIN)
  if (size > 1)
    for (const ask of [another, recording, token]) expect((await ask()) as object[]).toHaveLength(1)
  expect([db.pool.stats().inUse, db.pool.stats().waiting]).toEqual([most, 20 - most])
  expect(await sleeping()).toBe(most)
  // Its place is free for the next one of its own.
  greedy.abort()
  await until('nothing runs', async () => db.pool.stats().inUse === 0)
  expect(
    (await db.forRequest(PATIENT, 'greedy').unsafe('select 1 as one', [], PLAIN)) as object[],
  ).toHaveLength(1)
  await db.close()
})

test('the lane of tokens may hold every connection', async () => {
  const db = database.pool({ ...ONE, size: 3, statementMs: 60_000 }, NO_LOG)
  const tokens = occupy(db, '', 5)
  await until('all connections are in use', async () => (await sleeping()) === 3)
  tokens.abort()
  await db.close()
})
