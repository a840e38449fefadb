import { afterAll, beforeAll, expect } from 'bun:test'
import type { Sql } from 'postgres'
import { cleanUp, type Running, start } from './executable.ts'
import { assessment, ORGANIZATION, PRODUCT, world } from './fixtures.ts'
import { type Credentials, get, LIST, postToken, successful } from './http.ts'
import { authorize, load, openTestDatabase, startService, type TestService } from './service.ts'
import { until } from './until.ts'

/** A process of `axport serve` that listens. */
export interface Served extends Running {
  url: string
  /** The base URL of health and metrics; empty without ADMIN_PORT. */
  admin: string
  /** The complete log lines so far; throws if a line is not JSON. */
  log(): (Record<string, unknown> & { msg: string })[]
  /** Sends SIGTERM, and checks that the process exits with code 0 and an empty standard error. */
  end(): Promise<void>
}

/** A Postgres database with `world()` and the assessments 9001 and 9002, and an integration that may read them. */
export interface ServedWorld {
  sql: Sql
  /** DATABASE_URL and the given settings. */
  env: Record<string, string>
  credentials: { clientId: string; clientSecret: string }
  token: string
  /** Starts `axport serve` with further arguments and settings, on a free port unless PORT is set. */
  serve(args?: string[], settings?: Record<string, string>): Promise<Served>
  /** GET the list from a server. */
  list(server: { url: string }): ReturnType<typeof get>
}

/** Opens such a database for the tests of a group. The processes started by `serve` are ended after the tests. */
export function useServedWorld(settings: Record<string, string> = {}): ServedWorld {
  const served = {} as ServedWorld
  let close = async () => {}
  beforeAll(async () => {
    // This service provides the database and a token only. The tests start processes of `axport serve`.
    const service = await startService()
    await load(service.sql, [...world(), assessment(9001), assessment(9002)])
    const { token, ...credentials } = await authorize(service, [ORGANIZATION], [PRODUCT])
    const env = { DATABASE_URL: service.url, ...settings }
    Object.assign(served, {
      sql: service.sql,
      env,
      credentials,
      token,
      serve: (args: string[] = [], more: Record<string, string> = {}) => serveWith(args, { ...env, ...more }),
      list: ({ url }: { url: string }) => get(url, token, LIST),
    } satisfies ServedWorld)
    close = service.close
  })
  afterAll(async () => {
    await cleanUp()
    await close()
  })
  return served
}

/** Starts `axport serve ARGS` in this environment, and waits until the process listens. */
export async function serveWith(args: string[], env: Record<string, string>): Promise<Served> {
  const running = await start(['serve', ...args], { env: { PORT: '0', ...env } })
  const [, url = '', admin = ''] = await running.shows(/"url":"([^"]+)"(?:,"admin":"([^"]+)")?.*"listening"/)
  return {
    ...running,
    url,
    admin,
    log: () =>
      running
        .stdout()
        .split('\n')
        .slice(0, -1)
        .map(line => JSON.parse(line)),
    end: async () => {
      running.signal('SIGTERM')
      expect(await running.finished).toMatchObject({ code: 0, stderr: '' })
    },
  }
}

/**
 * Runs `work` while a lock keeps requests from reading a table. `waiting(count)` resolves when that many requests wait for
 * the lock.
 */
export async function whileBlocked(
  sql: Sql,
  work: (waiting: (count: number) => Promise<unknown>) => Promise<void>,
  table = 'export_records',
): Promise<void> {
  const lock = await sql.reserve()
  await lock`begin`
  await lock`lock table ${sql(table)} in access exclusive mode`
  try {
    await work(count =>
      until(`${count} requests wait for ${table}`, async () => {
        const { count: waiting } = await lock`select from pg_locks where not granted`
        return waiting >= count
      }),
    )
  } finally {
    await lock`rollback`
    lock.release()
  }
}

/** Whether no process listens at `url`. */
export const isClosed = (url: string): Promise<boolean> =>
  // A server that shuts down still answers on a kept-alive connection.
  fetch(url, { headers: { connection: 'close' } }).then(
    () => false,
    () => true,
  )

/** Waits until no process listens at `url`. */
export const untilClosed = (url: string) => until(`no process listens at ${url}`, () => isClosed(url))

/** Starts the executable with an empty database of its own. */
export async function startExecutable(): Promise<TestService> {
  const database = await openTestDatabase()
  const served = await serveWith([], { DATABASE_URL: database.url })
  const close = async () => {
    await served.end()
    await cleanUp()
    await database.close()
  }
  return { ...database, baseUrl: served.url, logged: served.stdout, close }
}

/** A token of a service that has just started, which answers 503 until it has found its database. */
export async function firstToken(url: string, credentials: Credentials): Promise<string> {
  const issue = async () => {
    const answer = await postToken(url, credentials)
    return answer.status !== 503 && (successful(answer) as { access_token: string }).access_token
  }
  return await until('the service issues a token', issue)
}
