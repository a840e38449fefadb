/**
 * The errors of the command line that are meant to be read by an operator: one line that says what is
 * wrong and what to do. Anything else that is thrown is unforeseen.
 */

/** A command failed for a reason its operator can act on: exit code 1. */
export class Failure extends Error {}

/** A command was called wrongly: exit code 2. */
export class UsageFailure extends Error {}

/** A command was ended by a signal before it was done: exit code 130, and `message` where there is one to tell. */
export class Interrupted extends Error {}
