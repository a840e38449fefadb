import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import { Counters } from '../../src/counters.ts'
import { type Database, openDatabase } from '../../src/database/database.ts'
import { LOCKS } from '../../src/database/locks.ts'
import { createIntegration } from '../../src/integrations/credentials.ts'
import { purgeEndedSecrets, purgeExpiredTokens, startPurging } from '../../src/oauth/purge.ts'
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

test('expired tokens of the last day are kept, the newest of too many, and those of an ended secret are not', async () => {
  await issue(1500)
  const insert = (from: number, to: number, age: string, secret = 'max') => sql`
    insert into access_tokens (digest, secret_id, created_at, expires_at)
    select sha256(('kept ' || i)::bytea), (select ${sql(secret)}(id) from integration_secrets), now() - interval '2 days',
      now() - ${age}::interval - i * interval '1 us'
    from generate_series(${from}::integer, ${to}::integer) i`
  await sql`
    insert into integration_secrets (integration_id, digest) select id, sha256('second') from integrations`
  await insert(1, 50, '23 hours')
  await insert(51, 1100, '1 hour', 'min')
  await sql`update integration_secrets set expires_at = now() where id = (select min(id) from integration_secrets)`
  const stop = startPurging(sql, { log: quietLog(), firstDelayMs: 0 })
  // The live token is of the ended secret.
  await until('those of the last day are left', async () => (await tokens()) === 50)
  await stop()
  await insert(2000, 4000, '2 hours')
  const again = startPurging(sql, { log: quietLog(), firstDelayMs: 0, keptTokens: 1500 })
  await until('so many are left', async () => (await tokens()) === 1500)
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

test('a batch deletes the oldest tokens, and the next batch continues after it', async () => {
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

test('tokens that expired at the same instant as the last token of a batch are not skipped', async () => {
  await issue(30)
  await sql`update access_tokens set expires_at = '2020-01-01' where expires_at < now()`
  const { last } = await purgeExpiredTokens(sql, 10)
  expect(await purgeExpiredTokens(sql, 100, last)).toMatchObject({ count: 20 })
})

test('the probe whether tokens can be issued writes an expired token, which the purge deletes', async () => {
  await issue(0)
  await tryIssuing(sql)
  expect(await tokens()).toBe(2)
  expect(await purgeExpiredTokens(sql, 10)).toMatchObject({ count: 1 })
  expect(await tokens()).toBe(1)
})

test('a process deletes nothing while another one purges, and does not wait for it', async () => {
  await issue(10)
  await whileAnotherPurges(async () => {
    expect(await purgeExpiredTokens(sql, 10)).toEqual({ count: 0, last: '-infinity' })
    expect(await tokens()).toBe(11)
  })
  expect(await purgeExpiredTokens(sql, 10)).toMatchObject({ count: 10 })
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
  await sql`
    insert into integration_secrets (integration_id, digest, expires_at)
    select id, sha256('ended'), now() - interval '1 hour' from integrations`
  await sql`
    insert into access_tokens (digest, secret_id, expires_at)
    select sha256(('of ended ' || i)::bytea), max(s.id), now() + interval '1 hour'
    from generate_series(1, 1500) i, integration_secrets s group by i`
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
  expect(lines).toEqual([{ tokens: 4000, secrets: 1, message: 'purged expired tokens and ended secrets' }])
  expect(counters).toMatchObject({ purgedTokens: 4000, purgedSecrets: 1 })
  expect(await tokens()).toBe(1)
  expect(await sql`select from integration_secrets where expires_at <= now()`).toHaveLength(0)
})

test('the tokens of an ended secret expire with it, and are deleted in batches before the secret', async () => {
  await issue(0)
  await sql`
    insert into access_tokens (digest, secret_id, expires_at)
    select sha256(('live ' || i)::bytea), s.id, now() + interval '1 hour'
    from generate_series(1, 24) i, integration_secrets s`
  expect(await purgeExpiredTokens(sql, 10)).toMatchObject({ count: 0 })
  await sql`update integration_secrets set expires_at = now()`
  await whileAnotherPurges(async () => {
    expect(await purgeExpiredTokens(sql, 10)).toMatchObject({ count: 0 })
    expect(await purgeEndedSecrets(sql)).toBe(0)
  })
  for (const _ of [1, 2]) expect(await purgeExpiredTokens(sql, 10)).toMatchObject({ count: 10 })
  expect(await tokens()).toBe(5)
  expect(await purgeEndedSecrets(sql)).toBe(1)
  expect(await tokens()).toBe(0)
})

test('a purge deletes expired tokens, and ended secrets with their tokens, and nothing else', async () => {
  const { sql, close } = await openTestDatabase()
  for (const name of ['expired', 'ended', 'in grace']) {
    const { clientId, clientSecret } = await createIntegration(sql, name, [], [])
    await issueToken(sql, { clientId, clientSecret })
  }
  await sql.unsafe(`
      update access_tokens t set expires_at = now()
      from integration_secrets s join integrations i on i.id = s.integration_id
      where s.id = t.secret_id and name = 'expired';
      update integration_secrets s
      set expires_at = now() + case name when 'ended' then interval '0' else interval '1 minute' end
      from integrations i where i.id = s.integration_id and name <> 'expired'`)
  expect(await purgeExpiredTokens(sql, 10)).toMatchObject({ count: 2 })
  expect(await purgeEndedSecrets(sql)).toBe(1)
  const left = await sql`
      select name, count(t.digest)::int as tokens
      from integrations i join integration_secrets s on s.integration_id = i.id
      left join access_tokens t on t.secret_id = s.id
      group by name order by name`
  expect([...left]).toEqual([
    { name: 'expired', tokens: 0 },
    { name: 'in grace', tokens: 1 },
  ])
  await close()
})
