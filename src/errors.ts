/** A foreseen failure that the operator can do something about: one line with fault and remedy. Exit code 1. */
export class Failure extends Error {}

/** A failure that may not occur again if the command is repeated. */
export class TransientFailure extends Failure {}

/** A transaction of which nothing is left: its connection was lost before it was committed. */
export class RolledBack extends TransientFailure {}

/**
 * A change that the database may have, so that the command must not simply be repeated. `unknown`: it is not known whether
 * it was committed; exit code 3. `unconfirmed`: it is committed on the server, and no standby has confirmed that; exit
 * code 4.
 */
export class UncertainFailure extends Failure {
  /**
   * @param message the reason, or the whole line
   * @param result what the transaction has returned
   */
  constructor(
    readonly outcome: 'unknown' | 'unconfirmed',
    message: string,
    readonly result: unknown,
  ) {
    super(message)
  }
}

/** A command did a part of its work, which stays; the message says what remains. Exit code 75, EX_TEMPFAIL. */
export class IncompleteFailure extends Failure {
  /** @param result what the command would have returned */
  constructor(
    message: string,
    readonly result?: unknown,
  ) {
    super(message)
  }
}

/** A command was called wrongly: exit code 2. */
export class UsageFailure extends Error {}

/** A signal ended a command before it was done: exit code 130. The message may be empty. */
export class Interrupted extends Error {}

/** The first three of a list, and the number of the others: "a, b, c and 2 more". */
export function firstThree(things: string[]): string {
  const more = things.length > 3 ? ` and ${things.length - 3} more` : ''
  return `${things.slice(0, 3).join(', ')}${more}`
}
