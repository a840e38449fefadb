/** A foreseen failure that the operator can do something about: one line with fault and remedy. Exit code 1. */
export class Failure extends Error {}

/** The connection was lost while a transaction was being committed: nobody knows whether it was. Exit code 1. */
export class UncertainFailure extends Failure {
  /** @param result what the transaction has returned */
  constructor(readonly result: unknown) {
    super('the connection to the database was lost while committing')
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
