import { afterEach } from 'bun:test'
import type { PoolBounds, StateLog } from '../../src/database/bounds.ts'
import { openDatabase } from '../../src/database/database.ts'
import type { ServingDatabase } from '../../src/database/pool.ts'
import type { Runner } from '../../src/database/statement.ts'
import { useTestDatabase } from './hooks.ts'

/** A pool of one connection, so that what one statement leaves behind would meet the next one. */
export const ONE = { size: 1, waitMs: 10_000, statementMs: 10_000, slowMs: 60_000 }
export const NO_LOG = { info: () => {}, warn: () => {} }

/** A log, and the messages in it. */
export function logged() {
  const lines: string[] = []
  const note = (_: object, line: string) => void lines.push(line)
  return { lines, log: { info: note, warn: note } }
}

/** A client that never hangs up. */
export const PATIENT = { signal: new AbortController().signal }

/** Runs a statement without parameters, and returns its rows. */
export const ask = async (db: Runner, text: string): Promise<Record<string, unknown>[]> => [
  ...((await db.unsafe(text, [], { prepare: false })) as Record<string, unknown>[]),
]

/** The process id of a connection of a pool. */
export const pidOf = async (db: Runner) => (await ask(db, 'select pg_backend_pid() as pid'))[0]?.pid as number

/** A pool's bounds, of which a test that needs others gives its own. */
export const BOUNDS = { size: 4, waitMs: 5000, statementMs: 10_000, slowMs: 60_000 }

/** A database for the tests of a file, and pools on it. After each test these are closed, and then what `closing` has. */
export function usePools() {
  const database = useTestDatabase()
  const pools: ServingDatabase[] = []
  const closing: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const pool of pools.splice(0)) await pool.close()
    for (const close of closing.splice(0)) await close()
  })

  /** Opens a pool. @param url of another way to the database, or a function that returns it for each connection */
  async function open(
    bounds: Partial<PoolBounds> = {},
    log: StateLog = NO_LOG,
    url: Parameters<typeof openDatabase>[0] = database.url,
  ): Promise<ServingDatabase> {
    const opened = await openDatabase(url, 1)
    closing.push(() => opened.close())
    const pool = opened.pool({ ...BOUNDS, ...bounds }, log)
    pools.push(pool)
    return pool
  }
  return { database, open, closing }
}
