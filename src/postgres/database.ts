import postgres, { type Sql } from 'postgres'
import { Failure } from '../errors.ts'
import { openEmbedded } from './embedded.ts'
import { connectionFailure } from './failures.ts'

/** An open database: Postgres or the embedded one, spoken to through the same pool. */
export interface Database {
  sql: Sql
  kind: 'postgres' | 'embedded'
  close(): Promise<void>
}

/**
 * Opens DATABASE_URL and proves that it answers.
 * @param poolSize connections at most
 * @throws Failure for a URL that is not one, or a database that can not be reached
 */
export async function openDatabase(url: string, poolSize: number): Promise<Database> {
  const database = url.startsWith('embedded:')
    ? await openEmbeddedPool(url.slice('embedded:'.length), poolSize)
    : openPostgresPool(url, poolSize)
  try {
    await database.sql`select 1`
  } catch (error) {
    await database.close()
    throw connectionFailure(error)
  }
  return database
}

function openPostgresPool(url: string, poolSize: number): Database {
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url)) {
    throw new Failure('DATABASE_URL must be postgres://user:password@host:port/name, or embedded:DIR')
  }
  const sql = postgres(url, poolOptions(poolSize))
  return { sql, kind: 'postgres', close: () => sql.end({ timeout: 5 }) }
}

async function openEmbeddedPool(dir: string, poolSize: number): Promise<Database> {
  if (dir === '')
    throw new Failure('DATABASE_URL=embedded:DIR needs the folder to keep the data in, as embedded:./data')
  const embedded = await openEmbedded(dir)
  const sql = postgres({
    ...poolOptions(poolSize),
    path: embedded.socketPath,
    user: 'postgres',
    database: 'postgres',
  })
  return {
    sql,
    kind: 'embedded',
    close: async () => {
      await sql.end({ timeout: 5 })
      await embedded.close()
    },
  }
}

function poolOptions(poolSize: number) {
  return {
    max: poolSize,
    connect_timeout: 10,
    onnotice: () => {},
    connection: {
      application_name: 'axport',
      // A generic plan takes "= any($1)" for ten values and sorts the whole export: 700 ms instead of 1.
      plan_cache_mode: 'force_custom_plan',
      // Compiling a plan costs more than any statement of the service takes.
      jit: 'off',
      TimeZone: 'UTC',
    },
  } as const
}
