import type { TransactionSql } from 'postgres'
import { onTimeout } from '../connection/clock.ts'
import type { Connection } from '../connection/connection.ts'
import { timeoutError, whyFailed } from '../failures.ts'
import { onlyRow, type Runner } from '../statement.ts'
import type { Receipt } from './receipt.ts'
import { readStatus, type ServerStatus, STATUS } from './server-status.ts'

/** A transaction that is about to be committed, as a later connection recognizes it. */
export interface Attempt {
  receipt: Receipt
  backend: BackendOfTransaction
  /** The server; undefined if it does not tell. */
  server: Pick<ServerStatus, 'system' | 'timeline'> | undefined
}

/** The server process of a transaction, and when it started, in seconds. */
interface BackendOfTransaction {
  /** The number of the transaction as xid8; null if it has written nothing. */
  xid: string | null
  pid: number
  startedAt: string
}

/** How a transaction ended. `waiting`: it is committed on the server, and waits until a standby confirms it. */
type Ended = 'committed' | 'rolled back' | 'waiting'

/** What one look has found. `reason`: why the server that answered does not know; `failure`: why none could be asked. */
type Found = Ended | { reason: string } | { failure: string }

/** The outcome of a COMMIT whose answer was lost. `reason`: why it is not known, or not confirmed. */
export type Outcome = { is: 'committed' | 'rolled back' } | { is: 'unconfirmed' | 'unknown'; reason: string }

/** For one look, and between two. */
const LOOK_MS = 5000
const PAUSE_MS = 200

/**
 * Describes the transaction for outcomeOf(), and writes its receipt: the last thing before COMMIT. Also sets for this
 * transaction alone, because behind a pooler a session is shared:
 * - A commit survives a crash of the server, also where synchronous_commit is off. A higher setting stays.
 * - The warning that no standby has confirmed a commit is sent.
 */
export async function describeAttempt(sql: TransactionSql, receipt: Receipt): Promise<Attempt> {
  await receipt.leave(sql)
  const backend = onlyRow(
    await sql<BackendOfTransaction[]>`
      select pg_current_xact_id_if_assigned()::text as xid, pid, extract(epoch from backend_start)::text as "startedAt",
        set_config('client_min_messages', 'warning', true),
        set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'local'), true)
      from pg_stat_activity where pid = pg_backend_pid()`,
  )
  return { receipt, backend, server: await identify(sql) }
}

/** Not every provider's server has these functions: then one question less can be asked. */
async function identify(sql: TransactionSql): Promise<Attempt['server']> {
  try {
    return readStatus((await sql.savepoint(savepoint => savepoint.unsafe(STATUS)))[0])
  } catch (error) {
    if ((error as { name?: string }).name !== 'PostgresError') throw error
    return undefined
  }
}

/**
 * Asks on new connections what became of a transaction whose COMMIT was sent, until that is known.
 * @param open opens a connection within so many milliseconds
 * @param leftMs how long to go on asking; it may become less
 */
export async function outcomeOf(
  attempt: Attempt,
  open: (timeoutMs: number) => Promise<Connection>,
  leftMs: () => number,
): Promise<Outcome> {
  let isWaiting = false
  let answered: string | undefined
  for (;;) {
    const found = await look(attempt, open, Math.min(LOOK_MS, leftMs()))
    if (found === 'committed' || found === 'rolled back') return { is: found }
    if (found === 'waiting') isWaiting = true
    else if ('reason' in found) answered = found.reason
    if (leftMs() <= PAUSE_MS) {
      // It was flushed here before it began to wait.
      if (isWaiting) return { is: 'unconfirmed', reason: 'it waits for a standby' }
      // The last look may have too little time for an answer: what a server has said before tells more.
      return { is: 'unknown', reason: answered ?? (found as { failure: string }).failure }
    }
    await Bun.sleep(PAUSE_MS)
  }
}

async function look(
  attempt: Attempt,
  open: (timeoutMs: number) => Promise<Connection>,
  timeoutMs: number,
): Promise<Found> {
  let connection: Connection | undefined
  try {
    const deadline = performance.now() + timeoutMs
    const opened = await open(timeoutMs)
    connection = opened
    opened.take()
    const settle = onTimeout(deadline - performance.now(), () => opened.destroy(timeoutError()))
    return await ask({ unsafe: (...statement) => opened.run(...statement) }, attempt).finally(settle)
  } catch (error) {
    return { failure: `the database cannot be asked: ${whyFailed(error)}` }
  } finally {
    void connection?.close()
  }
}

async function ask(db: Runner, { receipt, backend, server }: Attempt): Promise<Found> {
  const current = server && readStatus(((await run(db, STATUS, [])) as object[])[0])
  if (current && current.system !== server.system)
    return { reason: 'another database cluster answers in place of the one that was written' }
  // On another server, or on another timeline, the transaction can no longer run.
  if (current?.timeline === server?.timeline) {
    // Before the receipt is looked for: a snapshot that was taken while the transaction ran would not show it.
    const [running] = (await run(db, RUNNING, [backend.pid, backend.startedAt, backend.xid])) as Running[]
    if (running?.waitsFor === 'SyncRep') return 'waiting'
    if (running) return { reason: 'the database is still committing' }
  }
  if (await receipt.isThere(db)) return 'committed'
  return current?.isStandby ? { reason: 'only a standby answers' } : 'rolled back'
}

interface Running {
  waitsFor: string | null
}

/**
 * The process that still runs the transaction. One that waits for its client never got the COMMIT: it is ended, because
 * nobody else knows that its client is gone.
 */
const RUNNING = `
  select wait_event as "waitsFor", case when wait_event = 'ClientRead' then pg_terminate_backend(pid) end
  from pg_stat_activity
  where pid = $1::integer and extract(epoch from backend_start) = $2::text::numeric and backend_xid = $3::text::xid8::xid`

const run = (db: Runner, text: string, parameters: (string | number | null)[]) =>
  db.unsafe(text, parameters as never[], { prepare: false })
