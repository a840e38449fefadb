import { LOST } from '../database/describe-error.ts'
import { verdictOn, whyFailed } from '../database/failures.ts'
import type { CommandSql } from '../database/transact.ts'
import { Failure, UncertainFailure } from '../errors.ts'
import type { Commit, Interruption } from '../interruption.ts'
import { OutputFailure, reportOf } from './output.ts'
import { interruptible } from './process.ts'
import { withDatabase } from './with-database.ts'

/** What an error says of the change of a command, by how far the change is. Each text continues a sentence. */
export interface Change extends Record<Commit, string> {
  /** Whether there may be more to do after a commit, so that the command is run again. */
  hasMore: boolean
}

/**
 * The change of a command that runs one transaction.
 * @param done as "the integration was created"
 * @param undone as "no integration was created"
 * @param shown what shows it, as "axport integration list shows it"
 */
export const oneChange = (done: string, undone: string, shown: string): Change => ({
  none: undone,
  sent: `it is not known whether ${done}; ${shown}`,
  done,
  hasMore: false,
})

/** The change of a command of several transactions that may be run again. */
export const severalChanges = (undone: string): Change => ({
  none: undone,
  sent: 'it is not known whether the last step was done; run the same command again, which does no harm',
  done: 'what was done before that stays',
  hasMore: true,
})

/** The field of --json for a change of which nobody knows whether it was committed. */
export type Doubt = { committed: null }

/** Runs a command that writes. If a signal or a lost connection ends it, its error says what became of the change. */
export async function changing<Result>(
  change: Change,
  work: (interruption: Interruption) => Promise<Result>,
): Promise<Result> {
  return await interruptible(
    interruption =>
      work(interruption).catch(error => {
        throw interruption.isRequested ? error : tell(change, error, interruption.commit)
      }),
    ({ commit }) => `interrupted: ${change[commit]}`,
  )
}

/** How a change is undone whose result could not be printed, and is not shown again. */
export interface Undo<Result> {
  run(sql: CommandSql, result: Result): Promise<unknown>
  /** As "the integration was deleted again". */
  undone: string
  /** What to do if that fails. */
  otherwise(result: Result): string
}

/**
 * Runs a transaction, and reports its result, also if nobody knows whether it was committed: a new secret is shown only
 * once.
 * @param undo for a result that must reach somebody
 * @param doneOf what was done, if that depends on the result
 */
export async function changeAndReport<Result>(
  change: Change,
  work: (sql: CommandSql) => Promise<Result>,
  report: (result: Result, doubt: Doubt | undefined, sql: CommandSql) => Promise<void>,
  { undo, doneOf = () => change.done }: { undo?: Undo<Result>; doneOf?(result: Result): string } = {},
): Promise<void> {
  await changing(change, interruption =>
    withDatabase(async ({ sql }) => {
      const { result, failure } = await settled(work(sql))
      try {
        const done = interruption.commit === 'done' && !undo ? doneOf(result) : undefined
        await reportOf(done, report(result, failure && { committed: null }, sql))
      } catch (error) {
        // What nobody knows is more than what could not be printed.
        if (failure) throw failure
        throw undo && error instanceof OutputFailure ? await undoing(undo, sql, result, change, error) : error
      }
      if (failure) throw failure
    }, interruption),
  )
}

/** Undoes a change that nobody can read of. @returns the error that says so */
async function undoing<Result>(
  { run, undone, otherwise }: Undo<Result>,
  sql: CommandSql,
  result: Result,
  { done }: Change,
  { message }: OutputFailure,
): Promise<Failure> {
  try {
    await run(sql, result)
    return new Failure(`${message}: ${undone}, because nobody has the secret`)
  } catch (error) {
    return new Failure(
      `${done}, but ${message}, nobody has the secret, and that was not undone (${whyFailed(error)}): ${otherwise(result)}`,
    )
  }
}

/** The result of a transaction that was committed, or may have been. @throws any other error */
export async function settled<Result>(
  change: Promise<Result>,
): Promise<{ result: Result; failure: UncertainFailure | undefined }> {
  try {
    return { result: await change, failure: undefined }
  } catch (failure) {
    if (!(failure instanceof UncertainFailure)) throw failure
    return { result: failure.result as Result, failure }
  }
}

/** The error of a command that writes, with what became of its change. Other errors stay as they are. */
export function tell(change: Change, error: unknown, commit: Commit): unknown {
  if (error instanceof UncertainFailure) return new Failure(`${error.message}: ${change.sent}`)
  if (verdictOn(error) !== 'cut') return error
  // A change that is done is not made twice.
  const isOver = commit === 'done' && !change.hasMore
  return new Failure(`${LOST}: ${change[commit]}${isOver ? '' : '; run the same command again'}`)
}
