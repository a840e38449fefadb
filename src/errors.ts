/**
 * The errors of the command line that are meant to be read by an operator: one line that says what is
 * wrong and what to do. Anything else that is thrown is unforeseen.
 */

/** A command failed for a reason its operator can act on: exit code 1. */
export class Failure extends Error {}

/** Ctrl-C while a command had something to clean up: exit code 130, as a shell has it, and no message. */
export class Interrupted extends Error {}

/** A command was called wrongly: exit code 2. */
export class UsageFailure extends Error {}
