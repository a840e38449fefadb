import pino from 'pino'
import type { Sql } from 'postgres'
import { createIntegration } from '../../../src/integrations/create.ts'
import { type Database, openDatabase } from '../../../src/postgres/database.ts'
import { get, LIST } from '../../support/http.ts'
import type { Scope } from '../../support/oracle.ts'
import { listen, openTestDatabase, type TestDatabase } from '../../support/service.ts'

/** Two services over one database, as two processes behind a balancer: own pools, own memories. */
export interface TwoServers {
  /** For the writers and for the truth; none of the servers uses it. */
  db: Sql
  databaseUrl: string
  /** Their URLs. */
  urls: [string, string]
  /** What both have logged, a line each. */
  logged(): Record<string, unknown>[]
  /** Begins anew with empty memories. */
  restart(): Promise<void>
  close(): Promise<void>
}

export async function startTwoServers(): Promise<TwoServers> {
  const database: TestDatabase = await openTestDatabase('postgres')
  const pools: Database[] = [await openDatabase(database.url, 3), await openDatabase(database.url, 3)]
  let lines: string[] = []
  const log = pino({ base: null }, { write: (line: string) => lines.push(line) })
  let servers: ReturnType<typeof listen>[] = []
  const stop = () => Promise.all(servers.map(server => server.stop()))
  const two: TwoServers = {
    db: database.sql,
    databaseUrl: database.url,
    urls: ['', ''],
    logged: () => lines.map(line => JSON.parse(line) as Record<string, unknown>),
    restart: async () => {
      await stop()
      lines = []
      servers = pools.map(pool => listen(pool, log))
      const [first, second] = servers.map(server => server.url)
      two.urls = [first ?? '', second ?? '']
    },
    close: async () => {
      await stop()
      await Promise.all(pools.map(pool => pool.close()))
      await database.close()
    },
  }
  await two.restart()
  return two
}

/** The credentials of an integration that may read a scope. */
export async function provision(
  db: Sql,
  { organizations, products }: Scope,
): Promise<{ clientId: string; clientSecret: string }> {
  return await createIntegration(db, 'Test', organizations.map(String), products.map(String))
}

/** An answer, as far as it is compared. */
export interface Answer {
  status: number
  body: string
}

/** GET /api/v1/ax/assessments and what follows it in the URL. */
export async function ask(url: string, token: string, rest: string): Promise<Answer> {
  const { status, text } = await get(url, token, LIST + rest)
  return { status, body: text }
}
