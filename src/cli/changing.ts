import { Failure, IncompleteFailure, RolledBack, UncertainFailure } from '../errors.ts'
import type { Interruption } from '../interruption.ts'
import type { Database } from '../postgres/database.ts'
import { LOST } from '../postgres/describe-error.ts'
import { verdictOn } from '../postgres/failures.ts'
import type { CommandSql } from '../postgres/transaction/transact.ts'
import { interruptible } from './process.ts'
import { withDatabase } from './with-database.ts'

/** What a command says of its change: each text continues a sentence. */
export interface Change {
  /** What the transaction does whose COMMIT was sent last, as "all was loaded". */
  done(): string
  /** What was changed so far. @param isDone whether a transaction was committed */
  soFar(isDone: boolean): string
  /** What shows whether it was done, as "axport integration list shows it". */
  shown: string
  /** Why the command must not be run again when it is done, as "a second run would create another integration". */
  harm?: string
}

/** The change of a command that runs one transaction. */
export const oneChange = (done: string, undone: string, shown: string, harm?: string): Change => ({
  done: () => done,
  soFar: isDone => (isDone ? done : undone),
  shown,
  ...(harm !== undefined && { harm }),
})

/** Runs a command that writes. If a signal or a lost connection ends it, its error says what became of the change. */
export async function changing<Result>(
  change: Change,
  work: (interruption: Interruption) => Promise<Result>,
): Promise<Result> {
  return await interruptible(
    interruption =>
      work(interruption).catch(error => {
        throw tell(change, error, interruption.hasCommitted)
      }),
    ({ hasCommitted }) => `interrupted: ${change.soFar(hasCommitted)}`,
  )
}

/**
 * Changes what integrations may read, and reports the result, also of an uncertain change: a new secret is shown only
 * once.
 */
export async function changeAndReport<Result>(
  change: Change,
  work: (sql: CommandSql) => Promise<Result>,
  report: (result: Result, uncertain: UncertainFailure | undefined) => Promise<void>,
): Promise<void> {
  const run = async ({ sql }: Database) => {
    const { result, failure } = await settled(work(sql))
    await report(result, failure instanceof UncertainFailure ? failure : undefined)
    if (failure) throw failure
  }
  await changing(change, interruption => withDatabase(run, interruption))
}

/**
 * The error of a command that writes, with what became of its change. Other errors stay as they are.
 * @param isDone whether a transaction was committed
 */
export function tell(change: Change, error: unknown, isDone = false): unknown {
  if (error instanceof UncertainFailure) {
    const { outcome, message, result } = error
    const line =
      outcome === 'unknown'
        ? `it is not known whether ${change.done()}: ${message}; ${change.shown}`
        : `${change.done()}, and no standby has confirmed that (${message}): ${waitUntil(change, 'the standbys of synchronous_standby_names are back')}`
    return new UncertainFailure(outcome, line, result)
  }
  if (error instanceof RolledBack || verdictOn(error) === 'cut')
    return new Failure(`${LOST}: ${change.soFar(isDone)}; run the same command again`)
  return error
}

/** The advice after a change that stands. */
export const waitUntil = ({ harm }: Change, state: string): string =>
  `wait until ${state}${harm === undefined ? '' : `; ${harm}`}`

/** The result of a change, also of one that is uncertain or not finished, and why it is. @throws any other error */
export async function settled<Result>(
  change: Promise<Result>,
): Promise<{ result: Result; failure: UncertainFailure | IncompleteFailure | undefined }> {
  try {
    return { result: await change, failure: undefined }
  } catch (failure) {
    if (!(failure instanceof UncertainFailure || failure instanceof IncompleteFailure)) throw failure
    return { result: failure.result as Result, failure }
  }
}
