import { cpSync } from 'node:fs'
import pino from 'pino'
import type { Sql } from 'postgres'
import { readLimits } from '../../src/cli/serve-settings.ts'
import type { Environment } from '../../src/config.ts'
import { startServer } from '../../src/http/server.ts'
import { importSource } from '../../src/import/import.ts'
import { ndjson } from '../../src/import/ndjson.ts'
import { createIntegration } from '../../src/integrations/create.ts'
import { type Database, openDatabase } from '../../src/postgres/database.ts'
import type { ServingDatabase } from '../../src/postgres/pool/serving-database.ts'
import { migrate } from '../../src/postgres/schema/migrate.ts'
import { freshDatabase, type TestDatabase as NewDatabase } from './cluster.ts'
import { borrowEngine, embeddedTemplate } from './engine.ts'
import { emptyFolder } from './executable.ts'
import { ndjsonOf } from './fixtures.ts'
import { newToken } from './http.ts'
import { thorough } from './tier.ts'

/** The two kinds of database behind the one code path; the contract holds on both. */
export const BACKENDS = ['postgres', 'embedded'] as const
export type Backend = (typeof BACKENDS)[number]

/**
 * Where facts are stated that are no rule of the contract and that both decide by the same SQL: Postgres, and under
 * CHECK=all the embedded database, which takes five times as long.
 */
export const BACKENDS_OF_TIER: readonly Backend[] = thorough ? BACKENDS : ['postgres']

/** A database with a current schema and nothing in it. */
export interface TestDatabase {
  sql: Sql
  url: string
  pool: Database['pool']
  close(): Promise<void>
}

/** The real service, listening on a free port over a database of its own. */
export interface TestService extends TestDatabase {
  /** "http://127.0.0.1:port" */
  baseUrl: string
  /** The service's log so far, as the text that would stand on standard output. */
  logged(): string
}

/** A Postgres database with a current schema and nothing in it, to which nobody is connected. */
export function migratedDatabase(): Promise<NewDatabase> {
  return freshDatabase('migrated', async url => {
    const database = await openDatabase(url, 1)
    await migrate(database.sql)
    await database.close()
  })
}

export async function openTestDatabase(backend: Backend): Promise<TestDatabase> {
  if (backend === 'postgres') {
    const { url, drop } = await migratedDatabase()
    const database = await openDatabase(url, 5)
    const close = async () => {
      await database.close()
      await drop()
    }
    return { sql: database.sql, url, pool: database.pool, close }
  }
  return await borrowEngine()
}

/** The folder of an embedded database with a current schema that nobody has opened; cleanUp() removes it. */
export async function migratedFolder(): Promise<string> {
  const folder = emptyFolder()
  cpSync(await embeddedTemplate(), folder, { recursive: true })
  return folder
}

export async function startService(backend: Backend): Promise<TestService> {
  const database = await openTestDatabase(backend)
  let output = ''
  const log = pino({ base: null }, { write: (line: string) => (output += line) })
  const { stop, url: baseUrl } = listen(database, log)
  const close = async () => {
    await stop()
    await database.close()
  }
  return { ...database, baseUrl, logged: () => output, close }
}

/** The service on a database that is open; `settings` are those that are not the defaults. */
export function listen(
  { pool: open }: Pick<Database, 'pool'>,
  log: pino.Logger,
  settings: Environment = {},
): { url: string; pool: ServingDatabase; stop(): Promise<void> } {
  const limits = readLimits(settings)
  const pool = open(limits.pool, log)
  const server = startServer(pool, log, { host: '127.0.0.1', port: 0 }, limits.http)
  return {
    url: server.url,
    pool,
    stop: async () => {
      await server.stop()
      await pool.close()
    },
  }
}

/** Loads lines of the import format; fails the test when any is refused. */
export async function load(sql: Sql, lines: object[]): Promise<void> {
  const bytes = new TextEncoder().encode(ndjsonOf(lines))
  const chunks = (async function* () {
    yield bytes
  })()
  const result = await importSource(sql, ndjson({ chunks }), () => {})
  if (!result.loaded) throw new Error(`test data was refused: ${JSON.stringify(result.problems)}`)
}

/** Provisions an integration and fetches a token for it, over HTTP as a client would. */
export async function authorize(
  service: TestService,
  organizationIds: number[],
  productIds: number[],
): Promise<{ clientId: string; clientSecret: string; token: string }> {
  const [organizations, products] = [organizationIds.map(String), productIds.map(String)]
  const integration = await createIntegration(service.sql, 'Test', organizations, products)
  return { ...integration, token: await newToken(service.baseUrl, integration) }
}
