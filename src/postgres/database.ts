import postgres, { type Sql } from 'postgres'
import { Failure } from '../errors.ts'
import { openEmbedded } from './embedded.ts'
import { connectionFailure } from './failures.ts'

/** An open database: Postgres or the embedded one, spoken to through the same pool. */
export interface Database {
  sql: Sql
  kind: 'postgres' | 'embedded'
  /** An embedded database that another process runs, and that ends with it. */
  isGuest: boolean
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
    // The embedded one answers when its turn comes: another command may be in a long import.
    if (database.kind === 'embedded') await database.sql`select 1`
    else await answerWithin(PATIENCE, database.sql)
  } catch (error) {
    await database.close()
    throw connectionFailure(error, url)
  }
  return database
}

/** Seconds for the first answer: beyond connect_timeout, which says more about what went wrong. */
const PATIENCE = 11

/** postgres.js connects again and again to what takes connections and closes them without a word. */
async function answerWithin(seconds: number, sql: Sql): Promise<void> {
  let timer: Timer | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(Object.assign(new Error('no answer'), { code: 'NO_ANSWER' })),
      seconds * 1000,
    )
  })
  try {
    await Promise.race([sql`select 1`, timeout])
  } finally {
    clearTimeout(timer)
  }
}

function openPostgresPool(url: string, poolSize: number): Database {
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url)) {
    throw new Failure(
      'DATABASE_URL (or what DATABASE_URL_FILE holds) must be postgres://user:password@host:port/name, or embedded:DIR',
    )
  }
  let sql: Sql
  try {
    sql = postgres(url, poolOptions(poolSize))
  } catch (error) {
    if (!(error instanceof URIError)) throw error
    throw new Failure(
      'DATABASE_URL has a % that begins no escape: write a % in a user name or password as %25',
    )
  }
  return { sql, kind: 'postgres', isGuest: false, close: () => sql.end({ timeout: 1 }) }
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
    isGuest: !embedded.owner,
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
      // A day is read back as it was written: it is where a page ended.
      DateStyle: 'ISO',
    },
  } as const
}
