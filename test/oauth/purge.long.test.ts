import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import { startPurging } from '../../src/cli/purge.ts'
import { Counters } from '../../src/counters.ts'
import { LOCKS } from '../../src/database/advisory-locks.ts'
import { type Database, openDatabase } from '../../src/database/database.ts'
import { createIntegration } from '../../src/integrations/credentials.ts'
import { purgeTokens } from '../../src/oauth/purge-tokens.ts'
import { issueToken, tryIssuing } from '../../src/oauth/tokens.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'

let database: TestDatabase
let sql: Sql
/** The connection pool of a second process. */
let other: Database

beforeEach(async () => {
  database = await openTestDatabase()
  sql = database.sql
  other = await openDatabase(database.url, 2)
})
afterEach(async () => {
  await other.close()
  await database.close()
})

/**
 * Makes tokens of one integration: `expired` ones, each a millisecond older than the previous one, and a live
 * one.
 */
async function issue(expired: number): Promise<void> {
  await issueToken(sql, await createIntegration(sql, 'Test', [], []))
  await sql`
    insert into access_tokens (digest, secret_id, created_at, expires_at)
    select sha256(i::text::bytea), s.id, now() - interval '3 days', now() - interval '25 hours' - i * interval '1 ms'
    from generate_series(1, ${expired}) i, integration_secrets s`
}

async function tokens(): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::int as count from access_tokens`
  return row?.count ?? 0
}

const untilPurged = () => until('only the live token is left', async () => (await tokens()) === 1)

/** Runs `work` while another process holds the lock of the purge. */
const whileAnotherPurges = (work: () => Promise<void>) =>
  other.sql.begin(async busy => {
    await busy`select pg_advisory_xact_lock(${LOCKS.purge})`
    await work()
  })

/** A logger that keeps its warnings, for tests that expect none. */
function quietLog() {
  const warnings: string[] = []
  return { warnings, info: () => {}, warn: (_: object, message: string) => void warnings.push(message) }
}

test('the first purge runs soon after the start, and deletes all expired tokens in batches', async () => {
  await issue(3500)
  const log = quietLog()
  const stop = startPurging(sql, { log })
  await untilPurged()
  await stop()
  expect(await tokens()).toBe(1)
  expect(log.warnings).toEqual([])
})

test('expired tokens of the last day are kept, and the newest of too many', async () => {
  await issue(1500)
  const insert = (from: number, to: number, age: string) => sql`
    insert into access_tokens (digest, secret_id, created_at, expires_at)
    select sha256(('kept ' || i)::bytea), (select id from integration_secrets), now() - interval '2 days',
      now() - ${age}::interval - i * interval '1 us'
    from generate_series(${from}::integer, ${to}::integer) i`
  await insert(1, 50, '23 hours')
  const stop = startPurging(sql, { log: quietLog(), firstDelayMs: 0 })
  await until('those of the last day are left', async () => (await tokens()) === 51)
  await stop()
  await insert(2000, 4000, '2 hours')
  const again = startPurging(sql, { log: quietLog(), firstDelayMs: 0, keptTokens: 1500 })
  await until('so many are left', async () => (await tokens()) === 1501)
  await again()
  const [oldest] =
    await sql`select now() - min(expires_at) < interval '3 hours' as "isNew" from access_tokens`
  expect(oldest).toEqual({ isNew: true })
})

test('two processes that purge at the same time delete all expired tokens, and log no warning', async () => {
  await issue(3000)
  const log = quietLog()
  const stops = [sql, other.sql].map(db => startPurging(db, { log, firstDelayMs: 0, intervalMs: 10 }))
  await untilPurged()
  await Promise.all(stops.map(stop => stop()))
  expect(await tokens()).toBe(1)
  expect(log.warnings).toEqual([])
})

test('a batch deletes the oldest tokens', async () => {
  await issue(25)
  for (const [count, left] of [
    [10, 16],
    [10, 6],
    [5, 1],
    [0, 1],
  ] as const) {
    expect(await purgeTokens(sql, { limit: 10 })).toBe(count)
    expect(await tokens()).toBe(left)
    const [{ oldest } = { oldest: 0 }] = await sql<{ oldest: number }[]>`
      select count(*)::int as oldest from generate_series(${left}::integer, 25) i
      join access_tokens t on t.digest = sha256(i::text::bytea)`
    expect(oldest).toBe(0)
  }
})

test('the probe whether tokens can be issued writes an expired token, which the purge deletes', async () => {
  await issue(0)
  await tryIssuing(sql)
  expect(await tokens()).toBe(2)
  expect(await purgeTokens(sql, { keptTokens: 0 })).toBe(1)
  expect(await tokens()).toBe(1)
})

test('a process deletes nothing while another one purges, and does not wait for it', async () => {
  await issue(10)
  await whileAnotherPurges(async () => {
    expect(await purgeTokens(sql)).toBe(0)
    expect(await tokens()).toBe(11)
  })
  expect(await purgeTokens(sql)).toBe(10)
})

test('stopping ends a long purge after the current batch', async () => {
  await issue(20_000)
  const stop = startPurging(sql, { log: quietLog(), firstDelayMs: 0 })
  await until('the purge is under way', async () => (await tokens()) < 20_001)
  await stop()
  const left = await tokens()
  expect(left).toBeGreaterThan(1)
  expect((left - 1) % 1000).toBe(0)
  expect(await tokens()).toBe(left)
})

test('nothing is purged while the database is read-only', async () => {
  await issue(10)
  const answers = [true, true, false]
  const stop = startPurging(sql, {
    log: quietLog(),
    firstDelayMs: 0,
    intervalMs: 1,
    isReadOnly: async () => {
      const isReadOnly = answers.shift() ?? false
      if (isReadOnly) expect(await tokens()).toBe(11)
      return isReadOnly
    },
  })
  await untilPurged()
  await stop()
  expect(answers).toEqual([])
})

test('a failed purge is logged with its SQLSTATE, and tried again', async () => {
  await issue(10)
  await sql`alter table access_tokens rename to away`
  const failed = Promise.withResolvers<object>()
  const stop = startPurging(sql, {
    log: { info: () => {}, warn: failed.resolve },
    firstDelayMs: 0,
    intervalMs: 10,
  })
  expect(await failed.promise).toEqual({ code: '42P01' })
  await sql`alter table away rename to access_tokens`
  await untilPurged()
  await stop()
})

test('a purge that deleted rows is logged and counted; any other is not', async () => {
  await issue(2500)
  const lines: object[] = []
  const counters = new Counters()
  const log = {
    info: (details: object, message: string) => void lines.push({ ...details, message }),
    warn: (details: object) => void lines.push(details),
  }
  const stop = startPurging(sql, { log, counters, firstDelayMs: 0, intervalMs: 10 })
  await until('the log has a line', () => lines.length > 0)
  // The time of several rounds of 10 ms that find nothing.
  await Bun.sleep(100)
  await stop()
  expect(lines).toEqual([{ tokens: 2500, message: 'purged expired tokens' }])
  expect(counters).toMatchObject({ purgedTokens: 2500 })
  expect(await tokens()).toBe(1)
})

test('a token whose secret is gone is kept and deleted like any other', async () => {
  await issue(10)
  await sql`delete from integrations`
  expect(await purgeTokens(sql)).toBe(10)
  await sql`update access_tokens set expires_at = now() - interval '25 hours'`
  expect(await purgeTokens(sql)).toBe(1)
})
