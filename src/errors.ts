/** A foreseen failure that the operator can do something about: one line with fault and remedy. Exit code 1. */
export class Failure extends Error {}

/** A failure that may not occur again if the command is repeated. */
export class TransientFailure extends Failure {}

/** A command did a part of its work, which stays; the message says what remains. Exit code 75, EX_TEMPFAIL. */
export class IncompleteFailure extends Failure {}

/** A command was called wrongly: exit code 2. */
export class UsageFailure extends Error {}

/** A signal ended a command before it was done: exit code 130. The message may be empty. */
export class Interrupted extends Error {}

/** The first three of a list, and the number of the others: "a, b, c and 2 more". */
export function firstThree(things: string[]): string {
  const more = things.length > 3 ? ` and ${things.length - 3} more` : ''
  return `${things.slice(0, 3).join(', ')}${more}`
}

/** An error as one line. Postgres' own message stays: it names a full disk. `command`: for advice on what to do next */
export function describeError(error: unknown, command = ''): string {
  if (error instanceof Failure || error instanceof UsageFailure || error instanceof Interrupted)
    return error.message
  const { name, message, code = '' } = error as { name?: string; message?: string; code?: string }
  const text = (message ?? String(error)).replaceAll(/\s+/g, ' ')
  // 57P: the server is stopped.
  if (/^(CONNECTION_|57P0[1-3])/.test(code)) {
    const next = REPEATABLE.includes(command) ? ': run the same command again' : ''
    return `the connection to the database was lost; nothing half-done is left${next}`
  }
  if (code === READ_ONLY)
    return 'the database is read-only: it is a standby, or default_transaction_read_only is on; name the primary in DATABASE_URL'
  if (name !== 'PostgresError') return `unexpected error: ${text}`
  const advice = code === '42501' ? `; ${PRIVILEGED_BY[command] ?? PRIVILEGED_AS_OWNER}` : ''
  return `the database refused: ${text} (SQLSTATE ${code})${advice}`
}

/** SQLSTATE read_only_sql_transaction. */
const READ_ONLY = '25006'

/** Commands that a second run does no harm, even if the first one was done. */
const REPEATABLE = ['migrate', 'import', 'refresh', 'backup']

/** How a role gets the privileges for a command; other commands are for the owner. */
const PRIVILEGED_BY: Record<string, string> = {
  serve: 'a role that serves gets its privileges by axport migrate --grant ROLE',
  import: 'a role that imports gets its privileges by axport migrate --grant-loader ROLE',
  backup: 'a role that makes backups gets its privileges by axport migrate --grant-backup ROLE',
}
const PRIVILEGED_AS_OWNER = 'run this command as the owner of the tables'
