import type { Sql, TransactionSql } from 'postgres'
import { RolledBack, UncertainFailure } from '../../errors.ts'
import { Interruption } from '../../interruption.ts'
import type { Connection } from '../connection/connection.ts'
import { closedError, verdictOn } from '../failures.ts'
import { type Attempt, describeAttempt, type Outcome, outcomeOf } from './outcome.ts'
import { newReceipt } from './receipt.ts'

/** The connections of a command, which wait without a limit. */
export interface CommandSql extends Sql {
  /** From openDatabase(). A plain client of postgres.js has none, and so cannot ask. */
  command?: Command
}

/** What transact() needs beside the connections of a command. */
export interface Command {
  /** Ends the connections. */
  interruption: Interruption
  /** Opens a connection beside them, to the server that the settings lead to now. */
  openAnother(timeoutMs: number): Promise<Connection>
  /** Called with each warning of the server. */
  onWarning(message: string): void
}

/** How long the outcome of a COMMIT is asked for. */
const ASK_MS = 30_000

/** After an interruption: how long to wait for the answer to COMMIT, and then to ask. In all, less than docker stop waits. */
const INTERRUPTED = { answerMs: 2000, askMs: 6000 }

/**
 * Runs a transaction of a command that writes: READ COMMITTED, and safe from a crash once it is reported as committed. If
 * the answer to COMMIT is lost, new connections ask what became of it.
 * @param receipt by which they find out
 * @returns the result of `work`, which is committed
 * @throws RolledBack; UncertainFailure, with that result; the errors of `work` and of the server, which have changed nothing
 */
export async function transact<Result>(
  db: CommandSql,
  work: (sql: TransactionSql) => Promise<Result>,
  receipt = newReceipt(),
): Promise<Result> {
  const command = db.command ?? alone()
  const { interruption } = command
  if (interruption.isRequested) throw closedError()
  let failure: { error: unknown } | undefined
  let sent: { attempt: Attempt; result: Result } | undefined
  let warning: string | undefined
  const ended = db.begin('isolation level read committed', async sql => {
    try {
      const result = await work(sql)
      const attempt = await describeAttempt(sql, receipt)
      if (interruption.isRequested) throw closedError()
      sent = { attempt, result }
      interruption.isCommitting = true
      command.onWarning = message => {
        warning = message
      }
    } catch (error) {
      failure = { error }
      throw error
    }
  })
  let outcome: Outcome
  try {
    await answered(ended, interruption)
    outcome = { is: 'committed' }
  } catch (error) {
    // The connection may also have been lost while `work` was rolled back.
    if (!sent) throw failure?.error ?? error
    if (verdictOn(error) !== 'cut') throw error
    outcome = await outcomeOf(sent.attempt, command.openAnother, timeFrom(performance.now(), interruption))
  } finally {
    interruption.isCommitting = false
    command.onWarning = () => {}
    if (interruption.isRequested) void db.end({ timeout: 0 }).catch(() => {})
  }
  // The server warns, of a commit that it answers and of one that it does not, when it no longer waits for a standby.
  if (outcome.is === 'committed' && warning !== undefined) outcome = { is: 'unconfirmed', reason: warning }
  if (outcome.is === 'rolled back') throw new RolledBack('the connection to the database was lost')
  interruption.hasCommitted = true
  const { result } = sent as unknown as { result: Result }
  if (!('reason' in outcome)) return result
  throw new UncertainFailure(outcome.is, outcome.reason, result)
}

const alone = (): Command => ({
  interruption: new Interruption(),
  openAnother: () => Promise.reject(closedError()),
  onWarning: () => {},
})

/** Waits for the end of a transaction, once interrupted only for a while. @throws its error, or closedError() */
async function answered(ended: Promise<unknown>, { signal }: Interruption): Promise<void> {
  const late = Promise.withResolvers<never>()
  let timer: Timer | undefined
  const hurry = () => {
    timer = setTimeout(() => late.reject(closedError()), INTERRUPTED.answerMs)
  }
  signal.addEventListener('abort', hurry)
  try {
    await Promise.race([ended, late.promise])
  } finally {
    signal.removeEventListener('abort', hurry)
    clearTimeout(timer)
  }
}

/** How many milliseconds are left for asking: less from an interruption on. */
function timeFrom(startedAt: number, { signal }: Interruption): () => number {
  let deadline = startedAt + ASK_MS
  const hurry = () => {
    deadline = Math.min(deadline, performance.now() + INTERRUPTED.askMs)
  }
  if (signal.aborted) hurry()
  else signal.addEventListener('abort', hurry, { once: true })
  return () => deadline - performance.now()
}
