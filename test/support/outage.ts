import { expect } from 'bun:test'
import pino from 'pino'
import { openDatabase } from '../../src/database/database.ts'
import { migrate } from '../../src/database/migrate.ts'
import { expectDocumented } from './expect-documented.ts'
import { assessment, ORGANIZATION, PRODUCT, world } from './fixtures.ts'
import { bearer, LIST, TOKEN, tokenRequest } from './http.ts'
import { authorize, listen, load, type TestLimits } from './service.ts'
import { until } from './until.ts'

/** A service for tests of outages, with a client that has a token. */
export interface OutageService {
  url: string
  pool: ReturnType<typeof listen>['pool']
  /** GET the first page. */
  list(init?: RequestInit): Promise<Response>
  /** POST for a token. */
  token(init?: RequestInit): Promise<Response>
  /** Messages and reasons in the log since the last call, without lines about requests and slow statements. */
  newMessages(): string[]
  /** The log lines about slow statements since the last newMessages(). */
  slow(): string[]
  /** Repeats a request until its status is 200; fails after two seconds, or on a status other than 503 before. */
  recovery(ask?: () => Promise<Response>): Promise<void>
  stop(): Promise<void>
}

/** Fills an empty database with one record, and provisions an integration that may read it. */
export async function fill(url: string): Promise<{ clientId: string; clientSecret: string; token: string }> {
  const database = await openDatabase(url, 2)
  await migrate(database.sql)
  await load(database.sql, [...world(), assessment(9001)])
  const server = listen(database, pino({ enabled: false }))
  const credentials = await authorize(
    { ...database, url, baseUrl: server.url, logged: () => '' },
    [ORGANIZATION],
    [PRODUCT],
  )
  // A token is committed asynchronously. Tests crash the server, and this one has to survive that.
  await database.sql`checkpoint`
  await server.stop()
  await database.close()
  return credentials
}

/** Starts a service on a filled database. */
export async function startOutageService(
  url: string,
  credentials: Awaited<ReturnType<typeof fill>>,
  limits: TestLimits,
): Promise<OutageService> {
  const database = await openDatabase(url, 1)
  await database.sql.end()
  let lines: string[] = []
  const log = pino({ base: null }, { write: (line: string) => void lines.push(line) })
  const server = listen(database, log, limits)
  /** Sends a request, and checks that the OpenAPI document describes the answer. */
  const ask = async (path: string, init: RequestInit) => {
    const answer = await fetch(server.url + path, init)
    const { status, headers } = answer
    expectDocumented(init.method ?? 'GET', path, { status, headers, text: await answer.clone().text() })
    return answer
  }
  const list = (init?: RequestInit) => ask(LIST, { headers: bearer(credentials.token), ...init })
  return {
    url: server.url,
    pool: server.pool,
    list,
    token: init => {
      const body = new URLSearchParams(tokenRequest(credentials))
      return ask(TOKEN, { method: 'POST', body, ...init })
    },
    newMessages: () => {
      const messages = lines
        .map(line => JSON.parse(line) as { msg: string; reason?: string })
        // A statement that waits for the database is reported as slow, too.
        .filter(({ msg }) => msg !== 'request' && msg !== 'slow statement')
        .map(({ msg, reason }) => (reason ? `${msg}: ${reason}` : msg))
      lines = []
      return messages
    },
    slow: () => lines.filter(line => line.includes('"msg":"slow statement"')),
    recovery: async (attempt = list) => {
      const seen = new Set<number>()
      await until(
        'the service answers 200 again',
        async () => seen.add((await attempt()).status).has(200),
        2000,
      )
      for (const status of seen) expect([200, 503]).toContain(status)
    },
    stop: async () => {
      await server.stop()
      await database.close()
    },
  }
}

/** Checks that both endpoints answer 503 with Retry-After, in their own error formats, within `limitMs` milliseconds. */
export async function expectUnavailable(
  service: OutageService,
  limitMs = Number.POSITIVE_INFINITY,
): Promise<void> {
  const start = performance.now()
  const [list, token] = await Promise.all([service.list(), service.token()])
  expect(performance.now() - start).toBeLessThan(limitMs)
  const description = expect.stringContaining('temporarily unavailable')
  expect(list.status).toBe(503)
  expect(await list.json()).toEqual({ errors: [{ message: description }] })
  expect(token.status).toBe(503)
  expect(await token.json()).toEqual({ error: 'temporarily_unavailable', error_description: description })
  expect(token.headers.get('cache-control')).toBe('no-store')
  for (const { headers } of [list, token]) {
    expect(headers.get('retry-after')).toMatch(/^[1-9]$/)
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
  }
}
