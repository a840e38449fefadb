import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import postgres from 'postgres'
import { openDatabase } from '../../src/database/database.ts'
import { ClientGone } from '../../src/database/failures.ts'
import { createIntegration } from '../../src/integrations/credentials.ts'
import { emptyDatabase, type TestDatabase } from '../support/cluster.ts'
import { ORGANIZATION, PRODUCT } from '../support/fixtures.ts'
import { bearer, LIST, newToken } from '../support/http.ts'
import { fill, type OutageService, startOutageService } from '../support/outage.ts'
import { exchange } from '../support/raw.ts'
import type { TestLimits } from '../support/service.ts'
import { until } from '../support/until.ts'

setDefaultTimeout(120_000)

let database: TestDatabase
let sql: postgres.Sql
/** Runs outside of a transaction, because a transaction sees other sessions in a fixed state. */
let watcher: postgres.Sql
let credentials: Awaited<ReturnType<typeof fill>>
let service: OutageService

beforeAll(async () => {
  database = await emptyDatabase()
  credentials = await fill(database.url)
  const open = () => postgres(database.url, { max: 1, fetch_types: false, onnotice: () => {} })
  sql = open()
  watcher = open()
})
afterEach(async () => {
  await sql`rollback`
  await service.stop()
})
afterAll(async () => {
  await Promise.all([sql.end(), watcher.end()])
  await database.drop()
})

const start = async (limits: TestLimits = {}) => {
  service = await startOutageService(database.url, credentials, limits)
}

/**
 * Blocks every statement of later requests until `sql` rolls back. Waits first for running statements: an
 * answer does not wait for the recording of its token's use.
 */
async function hold(tables = 'export_records, access_tokens'): Promise<void> {
  await until('no statement is under way', () => {
    const { inUse, waiting } = service.pool.stats()
    return inUse + waiting === 0
  })
  await sql`begin`
  await sql.unsafe(`lock table ${tables} in access exclusive mode`)
}

/** The number of other connections, in all or only those that run a statement. */
async function connections(state = '%'): Promise<number> {
  const rows = await watcher`
    select from pg_stat_activity
    where datname = current_database() and state like ${state} and application_name = 'axport'`
  return rows.count
}

/** The backends that have waited for a lock of `sql` for this interval, and since when. */
async function waitingBackends(interval = '0'): Promise<object[]> {
  return await watcher`
    select pid, query_start::text from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and application_name = 'axport'
      and clock_timestamp() - query_start > ${interval}::interval`
}

/** The time of the last check whether silent statements are still running; undefined during a check. */
async function lastCheck(): Promise<string | undefined> {
  const [row] = await watcher`
    select state_change::text as at from pg_stat_activity
    where datname = current_database() and state = 'idle' and query like '%from pg_stat_activity%'
      and application_name = 'axport'`
  return row?.at
}

const blocked = () => connections('active')

describe('a request gets', () => {
  test('a log line with the text of a slow statement and none of its values', async () => {
    await start({ slowMs: 50 })
    await service.list()
    await hold('export_people')
    const headers = { authorization: `Bearer ${credentials.token}` }
    const answer = fetch(`${service.url}${LIST}?filter[search]=Somebody`, { headers })
    await until('the statement waits', blocked)
    await Bun.sleep(60)
    await sql`rollback`
    expect((await answer).status).toBe(200)
    // Other statements of the service that were blocked are logged as well.
    const lines = service.slow()
    const ours = lines.filter(line => line.includes('names_key')).map(line => JSON.parse(line) as object)
    // Each statement that looks for people.
    for (const line of ours) expect(line).toMatchObject({ level: 40, ms: expect.any(Number) })
    expect(ours).not.toEqual([])
    expect(lines.join().toLowerCase()).not.toContain('somebody')
  })

  test('504 if its statement exceeds STATEMENT_TIMEOUT, and the server cancels the statement', async () => {
    await start({ statementMs: 300 })
    await hold()
    const [list, token] = await Promise.all([service.list(), service.token()])
    expect([list.status, token.status]).toEqual([504, 504])
    expect(await list.json()).toEqual({ errors: [{ message: expect.stringContaining('took too long') }] })
    expect(await token.json()).toMatchObject({ error: 'temporarily_unavailable' })
    expect(await blocked()).toBe(0)
    await sql`rollback`
    expect((await service.list()).status).toBe(200)
    expect(service.newMessages()).toEqual([])
  })

  test('503 and leaves the queue if no connection is free in time', async () => {
    // Of four connections, requests whose token was not seen before have two.
    await start({ waitMs: 2000, size: 4 })
    await hold()
    const held = [service.list(), service.list()]
    await until('two statements wait', async () => (await blocked()) === 2)
    const late = await service.list()
    expect(late.status).toBe(503)
    expect(late.headers.get('retry-after')).toBe('1')
    expect(service.pool.stats()).toMatchObject({ inUse: 2, waiting: 0 })
    await sql`rollback`
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200])
    expect(service.newMessages()).toEqual([])
  })

  test('503 while its share of MAX_REQUESTS is in work, and an answer after one of them has ended', async () => {
    // Of requests whose token was not seen before, and of token requests: half, as of one integration.
    await start({ requests: 6 })
    await hold()
    const held = [service.list(), service.list(), service.token()]
    await until('three statements wait', async () => (await blocked()) === 3)
    const [list, token] = await Promise.all([service.list(), service.token()])
    for (const refused of [list, token]) {
      expect(refused.status).toBe(503)
      expect(refused.headers.get('retry-after')).toBe('1')
    }
    expect(await list.json()).toEqual({ errors: [{ message: expect.any(String) }] })
    expect(await token.json()).toMatchObject({ error: 'temporarily_unavailable' })
    await sql`rollback`
    await Promise.all(held)
    expect((await service.list()).status).toBe(200)
  })

  test('a connection although another integration waits for more than it may have', async () => {
    await start({ size: 4 })
    const operator = await openDatabase(database.url, 1)
    const other = await createIntegration(operator.sql, 'Other', [String(ORGANIZATION)], [String(PRODUCT)])
    await operator.close()
    const token = await newToken(service.url, other)
    // The earlier use of a token has added the token to the page memory.
    expect((await service.list()).status).toBe(200)
    const record = await fetch(`${service.url}${LIST}/9001`, { headers: bearer(token) })
    expect(record.status).toBe(200)
    await hold()
    const greedy = Array.from({ length: 5 }, () => service.list())
    await until('two of its statements wait for the lock, and three for a connection', async () =>
      Bun.deepEquals([await blocked(), service.pool.stats().waiting], [2, 3]),
    )
    const modest = service.list({ headers: bearer(token) })
    await until('the other one waits for the lock, too', async () => (await blocked()) === 3)
    expect(service.pool.stats().waiting).toBe(3)
    await sql`rollback`
    expect((await modest).status).toBe(200)
    for (const { status } of await Promise.all(greedy)) expect(status).toBe(200)
  })

  test('413 if its body is larger than its limit, with or without Content-Length', async () => {
    await start({ bodySize: 1024 })
    const body = 'x'.repeat(2000)
    expect((await service.token({ body })).status).toBe(413)
    const post = ['POST /oauth/token HTTP/1.1', 'Content-Type: application/json']
    // Bun accepts a repeated Content-Length if both values are equal.
    const twice = ['Content-Length: 2000', 'Content-Length: 2000']
    const chunked = await exchange(service.url, [...post, 'Transfer-Encoding: chunked'], `7d0\r\n${body}\r\n`)
    const doubled = await exchange(service.url, [...post, ...twice], body)
    expect([chunked.status, doubled.status]).toEqual([413, 413])
  })

  test('431 if its request line and headers are larger than their limit', async () => {
    await start({ headerSize: 20480 })
    const headers = { authorization: `Bearer ${credentials.token}` }
    expect((await service.list({ headers: { ...headers, 'x-more': 'x'.repeat(18_000) } })).status).toBe(200)
    expect((await service.list({ headers: { ...headers, 'x-more': 'x'.repeat(21_000) } })).status).toBe(431)
  })
})

describe('a statement that runs for long', () => {
  test('is waited for, and not repeated', async () => {
    // The service checks a silent statement after a fifth of STATEMENT_TIMEOUT.
    await start({ waitMs: 1000, statementMs: 60000, idleMs: 200000 })
    await hold()
    const list = service.list()
    await until('the statement waits', async () => (await waitingBackends()).length === 1)
    const before = await waitingBackends()
    const checks = new Set<string | undefined>()
    await until('the service has checked twice', async () => checks.add(await lastCheck()).size > 2)
    expect(await waitingBackends()).toEqual(before)
    await sql`rollback`
    expect((await list).status).toBe(200)
    expect(service.newMessages()).toEqual([])
  })
})

describe('a client that disconnects', () => {
  test('frees its statement, its connection and its place in the queue', async () => {
    // Long enough that no timeout ends the statements.
    await start({ size: 4, statementMs: 60000, idleMs: 200000 })
    await hold()
    const clients = Array.from({ length: 5 }, () => new AbortController())
    const requests = clients.map(({ signal }) => service.list({ signal }).catch(({ name }) => name))
    await until('three requests wait in the queue', () => service.pool.stats().waiting === 3)
    // So long that the service listens for the ends of their clients.
    await until('two statements have waited', async () => (await waitingBackends('100 ms')).length === 2)
    for (const client of clients) client.abort()
    await until('the statements are cancelled', async () => (await blocked()) === 0)
    await until('the connections are free', () => service.pool.stats().inUse === 0)
    expect(service.pool.stats()).toEqual({ inUse: 0, idle: 2, waiting: 0 })
    expect(await Promise.all(requests)).toEqual(clients.map(() => 'AbortError'))
    await sql`rollback`
    expect((await service.list()).status).toBe(200)
    expect(service.newMessages()).toEqual([])
  })

  test.each([
    ['while a short statement runs is noticed at its end', 'select 1'],
    ['while a short statement fails is noticed at its end', 'select 1 / 0'],
    ['while a long statement runs is noticed after a moment', 'select pg_sleep(60)'],
  ])('%s', async (_, text) => {
    await start({ statementMs: 60000, idleMs: 200000 })
    const client = new AbortController()
    const ask = (asked: string) => service.pool.forRequest(client).unsafe(asked, [], { prepare: false })
    await ask('select 1')
    const statement = ask(text)
    client.abort()
    await expect(Promise.resolve(statement)).rejects.toBeInstanceOf(ClientGone)
    await until('no connection is in use', () => service.pool.stats().inUse === 0)
  })

  test('does not cause more connections or end other statements, even a hundred times', async () => {
    await start({ size: 3 })
    let most = 0
    let isOver = false
    const watched = (async () => {
      while (!isOver) most = Math.max(most, await connections())
    })()
    const others = (async () => {
      const statuses = new Set<number>()
      while (!isOver) statuses.add((await service.list()).status)
      return statuses
    })()
    const disconnecting = Array.from({ length: 4 }, async () => {
      for (let i = 0; i < 25; i++) {
        const client = new AbortController()
        const request = service.list({ signal: client.signal }).catch(() => {})
        // The clients disconnect at different stages of their statements.
        await Bun.sleep(i % 5)
        client.abort()
        await request
      }
    })
    await Promise.all(disconnecting)
    await until('connections have been counted', () => most > 0)
    isOver = true
    await watched
    expect(await others).toEqual(new Set([200]))
    // Three of the pool, and that of the watchdog.
    expect(most).toBeWithin(1, 5)
    expect(service.newMessages()).toEqual([])
  })
})
