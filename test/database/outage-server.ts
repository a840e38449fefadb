import { afterAll, afterEach, beforeAll } from 'bun:test'
import postgres from 'postgres'
import { type OwnCluster, startCluster } from '../support/cluster.ts'
import { FlakyProxy } from '../support/flaky-proxy.ts'
import { fill, type OutageService, startOutageService } from '../support/outage.ts'
import type { TestLimits } from '../support/service.ts'
import { until } from '../support/until.ts'

/** Short, so that the tests of these limits are short. */
const LIMITS = { statementMs: 2000, size: 4 }

/** A Postgres behind a proxy, for tests that crash it, cut its connections or take them all. */
interface OutageServer {
  own: OwnCluster
  proxy: FlakyProxy
  /** The service that start() has started. It ends with the test. */
  service: OutageService
  /** Starts the service, on the proxy if `url` is left out. */
  start(limits?: TestLimits, url?: string): Promise<void>
  /** Calls `work` with a connection that does not use the proxy. */
  operator<Result>(work: (sql: postgres.Sql) => Promise<Result>): Promise<Result>
  /** Takes every free connection of the server. Returns one of them, and a function that closes all. */
  takeAll(): Promise<{ sql: postgres.Sql; free(): Promise<void> }>
}

/** Such a server for the tests of one file. It is empty until they run. */
export function useOutageServer(): OutageServer {
  const server = { start, operator, takeAll } as OutageServer
  let credentials: Awaited<ReturnType<typeof fill>>

  beforeAll(async () => {
    server.own = await startCluster({
      settings: { max_connections: '20', superuser_reserved_connections: '0' },
    })
    credentials = await fill(server.own.url())
    server.proxy = await FlakyProxy.start(server.own.url())
  })
  afterEach(async () => {
    server.proxy.setNetwork({ is: 'normal' })
    await server.service.stop()
  })
  afterAll(async () => {
    await server.proxy.stop()
    await server.own.stop()
  })

  async function start(limits: TestLimits = {}, url = server.proxy.url): Promise<void> {
    server.service = await startOutageService(url, credentials, { ...LIMITS, ...limits })
  }

  const open = () => postgres(server.own.url(), { max: 1, fetch_types: false, onnotice: () => {} })

  async function operator<Result>(work: (sql: postgres.Sql) => Promise<Result>): Promise<Result> {
    const sql = open()
    try {
      return await work(sql)
    } finally {
      await sql.end({ timeout: 1 })
    }
  }

  async function takeAll(): Promise<{ sql: postgres.Sql; free(): Promise<void> }> {
    const taken: postgres.Sql[] = []
    // The server may still count connections that have just ended.
    for (let refusals = 0; refusals < 3; ) {
      const sql = open()
      const isTaken = await sql`select 1`.then(
        () => true,
        () => false,
      )
      if (isTaken) taken.push(sql)
      else {
        refusals++
        await sql.end({ timeout: 0 })
        await Bun.sleep(50)
      }
    }
    return {
      sql: taken[0] as postgres.Sql,
      free: async () => {
        await Promise.all(taken.map(sql => sql.end({ timeout: 1 })))
        await until('a connection is free', () => operator(async sql => await sql`select 1`))
      },
    }
  }
  return server
}
