import type { Sql } from 'postgres'
import { Failure } from '../errors.ts'
import { client, type Parameters } from './connection/client.ts'
import type { Connection, Open } from './connection/connection.ts'
import { openFirst } from './connection/opening.ts'
import { openSocket } from './connection/socket.ts'
import { type PostgresUrl, readPostgresUrl } from './connection/url.ts'
import { openEmbedded } from './embedded/embedded.ts'
import { connectionFailure } from './failures.ts'
import type { StateLog } from './pool/availability.ts'
import type { PoolBounds } from './pool/bounds.ts'
import { ServingDatabase } from './pool/serving-database.ts'

/** An open database: Postgres or the embedded one, spoken to through the same pool. */
export interface Database {
  /** For the commands: connections that wait for as long as it takes. */
  sql: Sql
  kind: 'postgres' | 'embedded'
  /** An embedded database that another process runs, and that ends with it. */
  isGuest: boolean
  /** For requests: connections of their own, within bounds. It must be closed before the database. */
  pool(bounds: PoolBounds, log: StateLog): ServingDatabase
  /** How each connection of such a pool is opened. */
  opening(bounds: PoolBounds, log: StateLog): Open
  close(): Promise<void>
}

/** Seconds for the first answer, of all servers together, and for any later connection of a command. */
const PATIENCE = 10

/** For the statements of commands. */
const ONLY_FOR_SPEED: Parameters = {
  // A generic plan takes "= any($1)" for ten values, whatever its length.
  plan_cache_mode: 'force_custom_plan',
  // Compiling a plan costs more than any statement takes.
  jit: 'off',
}

/**
 * Opens DATABASE_URL and proves that it answers.
 * @param url or how it is read: each new connection of the pool reads it again, so that a password may change
 * @param poolSize connections at most
 * @throws Failure for a URL that is not one, or a database that cannot be reached
 */
export async function openDatabase(url: string | (() => string), poolSize: number): Promise<Database> {
  const read = typeof url === 'string' ? () => url : url
  const text = read()
  return text.startsWith('embedded:')
    ? await openEmbeddedPool(text.slice('embedded:'.length), poolSize)
    : await openPostgresPool(() => readPostgresUrl(read()), poolSize)
}

/** Commands stay with the server that is found now; each connection of the pool looks for its own. */
async function openPostgresPool(read: () => PostgresUrl, poolSize: number): Promise<Database> {
  const url = read()
  let found: Connection
  try {
    found = await openFirst(url, ONLY_FOR_SPEED, PATIENCE * 1000, () => {})
  } catch (error) {
    throw connectionFailure(error)
  }
  await found.close()
  const sql = commandsOn(url, found.start, poolSize)
  return { sql, kind: 'postgres', isGuest: false, ...requestsOn(read), close: () => sql.end({ timeout: 1 }) }
}

async function openEmbeddedPool(dir: string, poolSize: number): Promise<Database> {
  if (dir === '')
    throw new Failure('DATABASE_URL=embedded:DIR needs the folder to keep the data in, as embedded:./data')
  const embedded = await openEmbedded(dir)
  const address = { path: embedded.socketPath }
  const url: PostgresUrl = {
    addresses: [address],
    user: 'postgres',
    password: undefined,
    database: 'postgres',
    encryption: { mode: 'disable', isDirect: false },
    wanted: 'any',
    prepare: true,
    parameters: {},
  }
  const sql = commandsOn(url, { route: { address }, parameters: ONLY_FOR_SPEED }, poolSize)
  const close = async () => {
    await sql.end({ timeout: 5 })
    await embedded.close()
  }
  try {
    // It answers when its turn comes: another command may be in a long import.
    await sql`select 1`
  } catch (error) {
    await close()
    throw connectionFailure(error)
  }
  return { sql, kind: 'embedded', isGuest: !embedded.owner, ...requestsOn(() => url), close }
}

function commandsOn(
  url: PostgresUrl,
  { route, parameters }: Pick<Connection['start'], 'route' | 'parameters'>,
  poolSize: number,
): Sql {
  return client(url, parameters, () => openSocket(route, PATIENCE * 1000), {
    max: poolSize,
    prepare: url.prepare,
    connect_timeout: PATIENCE,
  })
}

function requestsOn(read: () => PostgresUrl): Pick<Database, 'pool' | 'opening'> {
  const opening: Database['opening'] = (bounds, log) => openingOf(read, bounds, log)
  return { opening, pool: (bounds, log) => new ServingDatabase(opening(bounds, log), bounds, log) }
}

/** Opens connections for the statements of requests. Where the settings cannot be read again, they stay what they were. */
export function openingOf(read: () => PostgresUrl, bounds: PoolBounds, log: StateLog): Open {
  let url = read()
  let told: string | undefined
  const readAgain = () => {
    try {
      url = read()
      told = undefined
    } catch (error) {
      const { message: reason } = error as Error
      if (reason !== told)
        log.warn({ reason }, 'the database could not be read again from the settings; it stays what it was')
      told = reason
    }
    return url
  }
  const further = { ...SERVING, statement_timeout: String(bounds.statement) }
  return (patience, onEnd) => openFirst(readAgain(), further, patience, onEnd)
}

/**
 * For the statements of requests. What they read is in memory, or on a disk that can seek: by Postgres' own 4, which is
 * for spinning disks, a search reads and sorts all records rather than look into an index. A row that a parallel process
 * hands over costs a tenth of Postgres' own 0.1: by that, common searches were left to one process, for 1.8 times as long.
 * Starting the processes costs five times its 1000, so that what one process does in some ten milliseconds is left to it.
 */
export const SERVING = {
  jit: 'off',
  random_page_cost: '1.1',
  parallel_setup_cost: '5000',
  parallel_tuple_cost: '0.01',
}
