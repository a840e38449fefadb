import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import { createIntegration } from '../src/integrations/create.ts'
import { startPurging } from '../src/oauth/purge.ts'
import { issueToken, purgeExpiredTokens } from '../src/oauth/tokens.ts'
import { type Database, openDatabase } from '../src/postgres/database.ts'
import { LOCKS } from '../src/postgres/locks.ts'
import { openTestDatabase, type TestDatabase } from './support/service.ts'

let database: TestDatabase
let sql: Sql
/** The pool of a second process. */
let other: Database

beforeEach(async () => {
  database = await openTestDatabase('postgres')
  sql = database.sql
  other = await openDatabase(database.url, 2)
})
afterEach(async () => {
  await other.close()
  await database.close()
})

/** Tokens of one integration: `expired` ones, each a millisecond older than the one before, and one that lives. */
async function issue(expired: number): Promise<void> {
  const { clientId, clientSecret } = await createIntegration(sql, 'Test', [], [])
  await issueToken(sql, clientId, clientSecret)
  await sql`
    insert into access_tokens (digest, secret_id, created_at, expires_at)
    select sha256(i::text::bytea), s.id, now() - interval '3 hours', now() - interval '1 hour' - i * interval '1 ms'
    from generate_series(1, ${expired}) i, integration_secrets s`
}

async function tokens(): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::int as count from access_tokens`
  return row?.count ?? 0
}

/** A log that fails the test when something is said. */
function quietLog() {
  const said: string[] = []
  return { said, warn: (_: object, message: string) => void said.push(message) }
}

test('The first purge comes soon after the start, and takes every expired token in batches', async () => {
  await issue(3500)
  const log = quietLog()
  const stop = startPurging(sql, { log })
  while ((await tokens()) > 1) await Bun.sleep(10)
  await stop()
  expect(await tokens()).toBe(1)
  expect(log.said).toEqual([])
})

test('Two processes that purge at the same time take every expired token and report no trouble', async () => {
  await issue(6000)
  const log = quietLog()
  const stops = [sql, other.sql].map(db => startPurging(db, { log, first: 0, interval: 10 }))
  while ((await tokens()) > 1) await Bun.sleep(10)
  await Promise.all(stops.map(stop => stop()))
  expect(await tokens()).toBe(1)
  expect(log.said).toEqual([])
})

test('A batch takes the oldest tokens, and the next one goes on where it ended', async () => {
  await issue(25)
  const first = await purgeExpiredTokens(sql, 10)
  expect(first.count).toBe(10)
  const [{ left } = { left: 0 }] = await sql<{ left: number }[]>`
    select count(*)::int as left from access_tokens where expires_at <= ${first.last}::text::timestamptz`
  expect(left).toBe(0)
  const second = await purgeExpiredTokens(sql, 10, first.last)
  expect(second.count).toBe(10)
  expect(await purgeExpiredTokens(sql, 10, second.last)).toMatchObject({ count: 5 })
  expect(await purgeExpiredTokens(sql, 10)).toMatchObject({ count: 0 })
  expect(await tokens()).toBe(1)
})

test('Tokens that expired in the same instant as the end of a batch are not passed over', async () => {
  await issue(30)
  await sql`update access_tokens set expires_at = '2020-01-01' where expires_at < now()`
  const { last } = await purgeExpiredTokens(sql, 10)
  expect(await purgeExpiredTokens(sql, 100, last)).toMatchObject({ count: 20 })
})

test('A process deletes nothing while another one is at it, and does not wait for it', async () => {
  await issue(10)
  const busy = await other.sql.reserve()
  await busy`begin`
  await busy`select pg_advisory_xact_lock(${LOCKS.purge})`
  expect(await purgeExpiredTokens(sql, 10)).toEqual({ count: 0, last: '-infinity' })
  expect(await tokens()).toBe(11)
  await busy`rollback`
  busy.release()
  expect(await purgeExpiredTokens(sql, 10)).toMatchObject({ count: 10 })
})

test('Stopping ends a long purge after the batch under way, and leaves the rest for later', async () => {
  await issue(20_000)
  const stop = startPurging(sql, { log: quietLog(), first: 0 })
  while ((await tokens()) === 20_001) await Bun.sleep(1)
  await stop()
  const left = await tokens()
  expect(left).toBeGreaterThan(1)
  expect((left - 1) % 1000).toBe(0)
  expect(await tokens()).toBe(left)
})

test('A purge that fails is reported with its code, and tried again', async () => {
  await issue(10)
  await sql`alter table access_tokens rename to away`
  const failed = Promise.withResolvers<object>()
  const stop = startPurging(sql, { log: { warn: failed.resolve }, first: 0, interval: 10 })
  expect(await failed.promise).toEqual({ code: '42P01' })
  await sql`alter table away rename to access_tokens`
  while ((await tokens()) > 1) await Bun.sleep(10)
  await stop()
})
