import postgres, { type Sql } from 'postgres'
import { Failure } from '../errors.ts'
import { Connection } from './connection.ts'
import { openEmbedded } from './embedded.ts'
import { connectionFailure } from './failures.ts'
import type { Open, PoolBounds } from './places.ts'
import { Pool } from './pool.ts'
import { type Address, readPostgresUrl } from './url.ts'
import type { WatchLog } from './watch.ts'

/** An open database: Postgres or the embedded one, spoken to through the same pool. */
export interface Database {
  /** For the commands: connections that wait for as long as it takes. */
  sql: Sql
  kind: 'postgres' | 'embedded'
  /** An embedded database that another process runs, and that ends with it. */
  isGuest: boolean
  /** For requests: connections of their own, within bounds. It must be closed before the database. */
  pool(bounds: PoolBounds, log: WatchLog): Pool
  close(): Promise<void>
}

/**
 * Opens DATABASE_URL and proves that it answers.
 * @param url or how it is read: each new connection of the pool reads it again, so that a password may change
 * @param poolSize connections at most
 * @throws Failure for a URL that is not one, or a database that cannot be reached
 */
export async function openDatabase(url: string | (() => string), poolSize: number): Promise<Database> {
  return await openWith(typeof url === 'string' ? () => url : url, poolSize, ONLY_FOR_SPEED)
}

async function openWith(
  read: () => string,
  poolSize: number,
  forSpeed: Record<string, string>,
): Promise<Database> {
  const url = read()
  const database = url.startsWith('embedded:')
    ? await openEmbeddedPool(url.slice('embedded:'.length), poolSize)
    : openPostgresPool(read, poolSize, forSpeed)
  try {
    // The embedded one answers when its turn comes: another command may be in a long import.
    if (database.kind === 'embedded') await database.sql`select 1`
    else await answerWithin(PATIENCE, database.sql)
  } catch (error) {
    await database.close()
    if (isParameterRefused(error) && forSpeed === ONLY_FOR_SPEED) return await openWith(read, poolSize, {})
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

function openPostgresPool(read: () => string, poolSize: number, forSpeed: Record<string, string>): Database {
  const target = () => {
    const { url, addresses, ssl } = readPostgresUrl(read())
    return { url, addresses, options: { ...commonOptions(), ...(ssl && { ssl }), url } }
  }
  const { url, options } = target()
  let sql: Sql
  try {
    sql = postgres(url, { ...options, connection: { ...options.connection, ...forSpeed }, max: poolSize })
  } catch (error) {
    if (!(error instanceof URIError)) throw error
    throw new Failure(
      'DATABASE_URL has a % that begins no escape: write a % in a user name or password as %25',
    )
  }
  return {
    sql,
    kind: 'postgres',
    isGuest: false,
    pool: poolOf(target),
    close: () => sql.end({ timeout: 1 }),
  }
}

async function openEmbeddedPool(dir: string, poolSize: number): Promise<Database> {
  if (dir === '')
    throw new Failure('DATABASE_URL=embedded:DIR needs the folder to keep the data in, as embedded:./data')
  const embedded = await openEmbedded(dir)
  const options = { ...commonOptions(), user: 'postgres', database: 'postgres' }
  const path = embedded.socketPath
  const connection = { ...options.connection, ...ONLY_FOR_SPEED }
  const sql = postgres({ ...options, connection, max: poolSize, path })
  return {
    sql,
    kind: 'embedded',
    isGuest: !embedded.owner,
    pool: poolOf(() => ({ addresses: [{ path }], options })),
    close: async () => {
      await sql.end({ timeout: 5 })
      await embedded.close()
    },
  }
}

type PostgresOptions = Parameters<typeof Connection.open>[0]

/** Where a connection leads, and as whom. */
interface Target {
  addresses: Address[]
  options: PostgresOptions
}

/** Several addresses are tried in turn; each new connection begins with the first one again. */
function poolOf(read: () => Target): Database['pool'] {
  return (bounds, log) => {
    let target = read()
    const readAgain = () => {
      try {
        target = read()
      } catch (error) {
        const { message: reason } = error as Error
        log.warn({ reason }, 'DATABASE_URL_FILE could not be read again; its last value stays')
      }
      return target
    }
    const bound = { ...SERVING, statement_timeout: bounds.statement }
    const openOne = async (
      options: PostgresOptions,
      address: Address,
      ...[patience, onEnd]: Parameters<Open>
    ) => {
      const open = (further: object) => {
        const connection = { ...options.connection, ...further }
        return Connection.open({ ...options, connection }, address, patience, onEnd)
      }
      try {
        return await open(bound)
      } catch (error) {
        if (!isParameterRefused(error)) throw error
        return await open({})
      }
    }
    const open: Open = async (patience, onEnd) => {
      let failure: unknown
      const { addresses, options } = readAgain()
      for (const address of addresses) {
        try {
          return await openOne(options, address, patience / addresses.length, onEnd)
        } catch (error) {
          failure = error
        }
      }
      throw failure
    }
    return new Pool(open, bounds, log)
  }
}

/** PgBouncer takes those parameters alone that it restores for its next client; `serve` can do without the others. */
function isParameterRefused(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string }
  return code === '08P01' && /startup parameter/.test(message ?? '')
}

/**
 * For the statements of requests. What they read is in memory, or on a disk that can seek: by Postgres' own 4, which is
 * for spinning disks, a search reads and sorts all records rather than look into an index. A row that a parallel process
 * hands over costs a tenth of Postgres' own 0.1: by that, common searches were left to one process, for 1.8 times as long.
 */
export const SERVING = { jit: 'off', random_page_cost: '1.1', parallel_tuple_cost: '0.01' }

/** For the statements of commands. */
const ONLY_FOR_SPEED = {
  // A generic plan takes "= any($1)" for ten values, whatever its length.
  plan_cache_mode: 'force_custom_plan',
  // Compiling a plan costs more than any statement takes.
  jit: 'off',
}

function commonOptions() {
  return {
    connect_timeout: 10,
    onnotice: () => {},
    connection: {
      application_name: 'axport',
      TimeZone: 'UTC',
      // A day is read back as it was written: it is where a page ended.
      DateStyle: 'ISO',
    },
  } as const
}
