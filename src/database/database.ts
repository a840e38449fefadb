import { Interruption } from '../interruption.ts'
import type { Open } from './connection/connection.ts'
import { openFirst, type Silences } from './connection/opening.ts'
import { openSocket } from './connection/socket.ts'
import { client, type Start } from './connection/wire.ts'
import { connectionFailure } from './failures.ts'
import type { PoolBounds } from './pool/bounds.ts'
import type { StateLog } from './pool/pool-state.ts'
import { ServingDatabase } from './pool/serving-database.ts'
import type { CommandSql } from './transact.ts'
import { type PostgresUrl, readPostgresUrl } from './url.ts'

/** An open database. */
export interface Database {
  /** For commands. */
  sql: CommandSql
  /** For requests: a bounded pool with its own connections. Close it before the database. */
  pool(bounds: PoolBounds, log: StateLog): ServingDatabase
  close(): Promise<void>
}

/** For the first connection of a command, to all servers together, and for each later one. */
const CONNECT_TIMEOUT_MS = 10_000

const FOR_COMMANDS = {
  // A generic plan assumes ten values for "= any($1)", whatever its length.
  plan_cache_mode: 'force_custom_plan',
  // Compiling a plan takes longer than any statement.
  jit: 'off',
}

/**
 * Planner settings for requests, whose data is in memory or on an SSD. With the default random_page_cost of 4, a search
 * reads and sorts all records instead of using an index. With the default parallel_tuple_cost of 0.1, common searches ran
 * in one process and took 1.8 times as long; parallel_setup_cost leaves what takes some 10 ms to one process.
 */
export const SERVING = {
  jit: 'off',
  random_page_cost: '1.1',
  parallel_setup_cost: '5000',
  parallel_tuple_cost: '0.01',
}

/**
 * Opens DATABASE_URL, which a function reads for each connection: its password may change. Commands stay with the server
 * that is found here; each connection of a pool searches again.
 * @param interruption ends the connections for commands
 * @throws Failure
 */
export async function openDatabase(
  given: string | (() => string),
  poolSize: number,
  interruption = new Interruption(),
): Promise<Database> {
  const read = () => readPostgresUrl(typeof given === 'string' ? given : given())
  const found = await openFirst(read(), CONNECT_TIMEOUT_MS, { optional: FOR_COMMANDS }).catch(fail)
  await found.close()
  // Behind a pooler, another process may run the next statement, without what the last one has prepared.
  const url = { ...found.start.url, prepare: found.start.url.prepare && found.server !== undefined }
  const sql = commandsOn({ ...found.start, url }, poolSize, interruption)
  const close = () => sql.end({ timeout: 1 })
  return { sql, pool: poolOn(read), close }
}

const fail = (error: unknown): never => {
  throw connectionFailure(error)
}

function commandsOn(start: Start, poolSize: number, interruption: Interruption): CommandSql {
  const options = { max: poolSize, connect_timeout: CONNECT_TIMEOUT_MS / 1000 }
  const sql = client(start, () => openSocket(start.route, CONNECT_TIMEOUT_MS), options)
  // Only the end of its connection ends a statement that is running.
  interruption.signal.addEventListener('abort', () => void sql.end({ timeout: 0 }).catch(() => {}))
  return Object.assign(sql, { interruption })
}

/**
 * A pool on the standby of a URL, which is looked for meanwhile. A server that is no standby is as one that is away: it may
 * be a former standby, with data of its own.
 */
export function openStandby(read: () => string, bounds: PoolBounds, log: StateLog): ServingDatabase {
  return poolOn(() => ({ ...readPostgresUrl(read()), target: 'standby' }))(bounds, log)
}

function poolOn(read: () => PostgresUrl): Database['pool'] {
  return (bounds, log) => new ServingDatabase(openingOf(read, bounds, log), bounds, log)
}

/** Opens connections for requests. If the settings become unreadable, the last URL stays in use. */
function openingOf(read: () => PostgresUrl, bounds: PoolBounds, log: StateLog): Open {
  let url = read()
  let loggedReason: string | undefined
  const readAgain = () => {
    try {
      url = read()
      loggedReason = undefined
    } catch (error) {
      const { message: reason } = error as Error
      const message = 'the database URL cannot be read again from the settings: the last one stays in use'
      if (reason !== loggedReason) log.warn({ reason }, message)
      loggedReason = reason
    }
    return url
  }
  const optional = { ...SERVING, statement_timeout: String(bounds.statementMs) }
  const silences: Silences = new Map()
  return (timeoutMs, signal) => openFirst(readAgain(), timeoutMs, { optional, signal, silences })
}
