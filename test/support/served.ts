import { afterAll, beforeAll, expect } from 'bun:test'
import type { Sql } from 'postgres'
import { cleanUp, type Running, start } from './executable.ts'
import { assessment, ORGANIZATION, PRODUCT, world } from './fixtures.ts'
import { get, LIST } from './http.ts'
import { authorize, load, startService } from './service.ts'
import { until } from './until.ts'

/** A run of `axport serve` that listens. */
export interface Served extends Running {
  url: string
  /** Where health and metrics are; empty without ADMIN_PORT. */
  admin: string
  /** The whole lines of its log so far; throws when one is not JSON. */
  log(): (Record<string, unknown> & { msg: string })[]
  /** Sends SIGTERM, after which it has to end with exit code 0 and without a word. */
  end(): Promise<void>
}

/** A Postgres with `world()` and the assessments 9001 and 9002, which an integration may read. */
export interface ServedWorld {
  sql: Sql
  /** DATABASE_URL, and the settings that were given. */
  env: Record<string, string>
  credentials: { clientId: string; clientSecret: string }
  token: string
  /** Starts `axport serve` with further arguments and settings, on a free port unless PORT is among them. */
  serve(args?: string[], settings?: Record<string, string>): Promise<Served>
  /** GET the list from a server. */
  list(server: { url: string }): ReturnType<typeof get>
}

/** The world is there while the tests of a group run, and the processes that it started are ended with them. */
export function useServedWorld(settings: Record<string, string> = {}): ServedWorld {
  const served = {} as ServedWorld
  let close = async () => {}
  beforeAll(async () => {
    // Only for its database and a token: what is tested are processes of their own.
    const service = await startService('postgres')
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

/** Starts `axport serve ARGS`; its database is the one in `env`. */
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
 * Runs `work` while the export cannot be read, so that every request for it waits; `waiting` resolves as soon as that
 * many do.
 */
export async function whileBlocked(
  sql: Sql,
  work: (waiting: (count: number) => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const lock = await sql.reserve()
  await lock`begin`
  await lock`lock table export_records in access exclusive mode`
  try {
    await work(count =>
      until(`${count} requests wait for the export`, async () => {
        const { count: waiting } = await lock`select from pg_locks where not granted`
        return waiting >= count
      }),
    )
  } finally {
    await lock`rollback`
    lock.release()
  }
}

/** Whether nobody listens at `url`. */
export const isClosed = (url: string): Promise<boolean> =>
  // A connection that is kept open would be served on.
  fetch(url, { headers: { connection: 'close' } }).then(
    () => false,
    () => true,
  )

/** Until nobody listens at `url` any more. */
export const untilClosed = (url: string) => until(`nobody listens at ${url}`, () => isClosed(url))
