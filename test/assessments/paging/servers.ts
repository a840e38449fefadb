import pino from 'pino'
import type { Sql } from 'postgres'
import { openDatabase } from '../../../src/database/database.ts'
import { createIntegration } from '../../../src/integrations/credentials.ts'
import { use } from '../../support/hooks.ts'
import { get, LIST } from '../../support/http.ts'
import type { Scope } from '../../support/oracle.ts'
import { listen, openTestDatabase } from '../../support/service.ts'

/**
 * Two services on one database, as two processes behind a load balancer: each has its own pool and page
 * memory.
 */
export interface TwoServers {
  /** For the writers and for the oracle; no service uses this connection. */
  db: Sql
  urls: [string, string]
  /** The lines that both services have logged. */
  logged(): Record<string, unknown>[]
  /** Restarts both services with empty page memories. */
  restart(): Promise<void>
}

/** Two services that run during the tests of a file. */
export const useTwoServers = (): TwoServers =>
  use(async () => {
    const database = await openTestDatabase()
    const pools = [await openDatabase(database.url, 3), await openDatabase(database.url, 3)]
    let lines: string[] = []
    const log = pino({ base: null }, { write: (line: string) => lines.push(line) })
    let servers: ReturnType<typeof listen>[] = []
    const urls: [string, string] = ['', '']
    const stop = () => Promise.all(servers.map(server => server.stop()))
    const restart = async () => {
      await stop()
      lines = []
      servers = pools.map(pool => listen(pool, log))
      Object.assign(
        urls,
        servers.map(server => server.url),
      )
    }
    const close = async () => {
      await stop()
      await Promise.all(pools.map(pool => pool.close()))
      await database.close()
    }
    await restart()
    const logged = () => lines.map(line => JSON.parse(line) as Record<string, unknown>)
    return { db: database.sql, urls, logged, restart, close }
  })

/** The credentials of an integration with this scope. */
export async function provision(
  db: Sql,
  { organizations, products }: Scope,
): Promise<{ clientId: string; clientSecret: string }> {
  return await createIntegration(db, 'Test', organizations.map(String), products.map(String))
}

/** The compared parts of an answer. */
export interface Answer {
  status: number
  body: string
}

/** GET /api/v1/ax/assessments with `rest` appended. */
export async function ask(url: string, token: string, rest: string): Promise<Answer> {
  const { status, text } = await get(url, token, LIST + rest)
  return { status, body: text }
}
