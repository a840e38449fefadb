import { Interruption } from '../interruption.ts'
import type { PoolBounds, StateLog } from './bounds.ts'
import { connectionFailure, interruptedError } from './failures.ts'
import { ServingDatabase } from './pool.ts'
import { findServer, openClient } from './server.ts'
import type { CommandSql } from './transact.ts'
import { type PostgresUrl, readPostgresUrl } from './url.ts'
import { DIGEST_TYPE } from './value-types.ts'

/** An open database. */
export interface Database {
  /** For commands. */
  sql: CommandSql
  /** For requests: a pool with its own connections. Close it before the database. */
  pool(bounds: PoolBounds, log: StateLog): ServingDatabase
  close(): Promise<void>
}

/** For the first connection of a command, to all servers together, and for each later one. */
const CONNECT_TIMEOUT_MS = 10_000

/**
 * Where row level security would hide rows, Postgres then fails the statement: pages would lack records, an import would
 * take rows for new, and nobody would notice.
 */
const HIDING_NOTHING = { row_security: 'off' }

const FOR_COMMANDS = {
  ...HIDING_NOTHING,
  // Postgres ends the statement of a command that has ended. Otherwise that would go on, and hold its locks.
  client_connection_check_interval: '500ms',
  // A generic plan assumes ten values for "= any($1)", whatever its length.
  plan_cache_mode: 'force_custom_plan',
  // Compiling a plan takes longer than any statement.
  jit: 'off',
}

/**
 * Planner settings for requests, whose data is in memory or on an SSD. With the default random_page_cost of 4, a search
 * reads and sorts all records instead of using an index. With 1.1, a token is joined by a hash table if the small tables were
 * vacuumed when they were empty, and its start takes a tenth of Postgres' time for a record. Workers of parallel plans take
 * their cores from other requests: on two busy cores the count of a search for one letter took 1,500 ms with them, and 440 ms
 * without.
 */
export const SERVING = {
  ...HIDING_NOTHING,
  jit: 'off',
  random_page_cost: '1',
  max_parallel_workers_per_gather: '0',
  // Nothing that serves begins a transaction.
  idle_in_transaction_session_timeout: '1000',
}

/**
 * Opens DATABASE_URL, which a function reads for each connection: its password may change. Commands stay with the server
 * that is found here; a pool looks for another one when it has to.
 * @param interruption ends the connections for commands
 * @throws Failure
 */
export async function openDatabase(
  given: string | (() => string),
  poolSize: number,
  interruption = new Interruption(),
): Promise<Database> {
  const read = () => readPostgresUrl(typeof given === 'string' ? given : given())
  const options = { max: poolSize, fetch_types: true, types: DIGEST_TYPE }
  const found = await findServer(read(), CONNECT_TIMEOUT_MS, {
    optional: FOR_COMMANDS,
    client: options,
  }).catch(error => {
    throw connectionFailure(error)
  })
  let { client } = found
  if (found.isPooled) {
    // It may have prepared its first statements.
    void client.close()
    client = openClient(found, CONNECT_TIMEOUT_MS, options)
  }
  // What runs fails here at once, and ends on the server, which finds that its client has gone.
  interruption.signal.addEventListener('abort', () => client.destroy(interruptedError()))
  return {
    sql: Object.assign(client.sql, { interruption }),
    pool: (bounds, log) => openServing(read, bounds, log),
    close: () => client.close(),
  }
}

/**
 * A pool on the standby of a URL, which is looked for meanwhile. A server that is no standby is as one that is away: it may
 * be a former standby, with data of its own.
 */
export function openStandby(read: () => string, bounds: PoolBounds, log: StateLog): ServingDatabase {
  return openServing(() => ({ ...readPostgresUrl(read()), target: 'standby' }), bounds, log)
}

function openServing(read: () => PostgresUrl, bounds: PoolBounds, log: StateLog): ServingDatabase {
  const optional = { ...SERVING, statement_timeout: String(bounds.statementMs) }
  return new ServingDatabase({ readUrl: lasting(read, log), optional }, bounds, log)
}

/** Reads a URL again and again. If the settings become unreadable, the last one stays in use. */
function lasting(read: () => PostgresUrl, log: StateLog): () => PostgresUrl {
  let url = read()
  let loggedReason: string | undefined
  return () => {
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
}
