/**
 * The errors of the command line that are meant to be read by an operator: one line that says what is
 * wrong and what to do. Anything else that is thrown is unforeseen.
 */

/** A command failed for a reason its operator can act on: exit code 1. */
export class Failure extends Error {}

/** A failure that the same command may not meet when it is run again. */
export class TransientFailure extends Failure {}

/** What a command has done so far is kept, and something is still to come, as its line says. Exit code 75, EX_TEMPFAIL. */
export class IncompleteFailure extends Failure {}

/** A command was called wrongly: exit code 2. */
export class UsageFailure extends Error {}

/** A command was ended by a signal before it was done: exit code 130, and `message` where there is one to tell. */
export class Interrupted extends Error {}

/** Several things as a line names them: the first three, and how many more there are. */
export function firstThree(things: string[]): string {
  const more = things.length > 3 ? ` and ${things.length - 3} more` : ''
  return `${things.slice(0, 3).join(', ')}${more}`
}
