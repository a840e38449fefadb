import type { BlockList } from 'node:net'
import pino from 'pino'
import type { Sql } from 'postgres'
import type { Limits } from '../../src/app/limits.ts'
import { startHttpServer } from '../../src/app/server.ts'
import { readLimits } from '../../src/cli/limits.ts'
import type { PoolBounds } from '../../src/database/bounds.ts'
import { type Database, openDatabase } from '../../src/database/database.ts'
import { migrate } from '../../src/database/migrate.ts'
import type { ServingDatabase } from '../../src/database/pool.ts'
import { importSource } from '../../src/import/import.ts'
import { ndjson } from '../../src/import/ndjson.ts'
import { createIntegration } from '../../src/integrations/credentials.ts'
import { freshDatabase, type TestDatabase as NewDatabase } from './cluster.ts'
import { ndjsonOf } from './fixtures.ts'
import { newToken } from './http.ts'

/** An empty database with the current schema. */
export interface TestDatabase {
  sql: Sql
  url: string
  pool: Database['pool']
  close(): Promise<void>
}

/** The real service on a free port, with a database of its own. */
export interface TestService extends TestDatabase {
  /** "http://127.0.0.1:port" */
  baseUrl: string
  /** The service's log so far, as text. */
  logged(): string
}

/**
 * Creates a Postgres database with the current schema, without a connection to it. It is empty, or a copy of the template
 * that `fill` has filled.
 */
export function migratedDatabase(
  template = 'migrated',
  fill: (sql: Sql) => Promise<unknown> = async () => {},
): Promise<NewDatabase> {
  return freshDatabase(template, async url => {
    const database = await openDatabase(url, 1)
    await migrate(database.sql)
    await fill(database.sql)
    await database.close()
  })
}

export async function openTestDatabase(create = () => migratedDatabase()): Promise<TestDatabase> {
  const { url, drop } = await create()
  const database = await openDatabase(url, 5)
  const close = async () => {
    await database.close()
    await drop()
  }
  return { sql: database.sql, url, pool: database.pool, close }
}

export async function startService(): Promise<TestService> {
  const database = await openTestDatabase()
  let output = ''
  const log = pino({ base: null }, { write: (line: string) => (output += line) })
  const { stop, url: baseUrl } = listen(database, log)
  const close = async () => {
    await stop()
    await database.close()
  }
  return { ...database, baseUrl, logged: () => output, close }
}

/** Starts the service on an empty database of a test. Closing it leaves the database. */
export async function serveEmpty(url: string): Promise<TestService> {
  const { sql, pool, close } = await openDatabase(url, 2)
  await migrate(sql)
  const { stop, url: baseUrl } = listen({ pool }, pino({ enabled: false }))
  const closeBoth = async () => {
    await stop()
    await close()
  }
  return { sql, url, pool, baseUrl, logged: () => '', close: closeBoth }
}

/** Limits of a service that a test replaces: those of the product would make it wait. */
export type TestLimits = Partial<PoolBounds & Limits>

/** Starts the service on an open database, with the limits of `serve` where the test gives none. */
export function listen(
  { pool: open }: Pick<Database, 'pool'>,
  log: pino.Logger,
  given: TestLimits = {},
  trustedProxies?: BlockList,
): { url: string; pool: ServingDatabase; stop(): Promise<void> } {
  const limits = readLimits({})
  const db = open({ ...limits.pool, ...given }, log)
  const address = { host: '127.0.0.1', port: 0 }
  const server = startHttpServer(db, log, address, { ...limits.http, ...given }, { trustedProxies })
  return {
    url: server.url,
    pool: db,
    stop: async () => {
      await server.stop()
      await db.close()
    },
  }
}

/** Imports lines; throws if any line is bad. */
export async function load(sql: Sql, lines: object[]): Promise<void> {
  const bytes = new TextEncoder().encode(ndjsonOf(lines))
  const chunks = (async function* () {
    yield bytes
  })()
  const result = await importSource(sql, ndjson({ chunks }), () => {})
  if (!result.loaded) throw new Error(`the test data has bad lines: ${JSON.stringify(result.problems)}`)
}

/** Provisions an integration and requests a token for it over HTTP. */
export async function authorize(
  service: TestService,
  organizationIds: number[],
  productIds: number[],
): Promise<{ clientId: string; clientSecret: string; token: string }> {
  const [organizations, products] = [organizationIds.map(String), productIds.map(String)]
  const integration = await createIntegration(service.sql, 'Test', organizations, products)
  return { ...integration, token: await newToken(service.baseUrl, integration) }
}
