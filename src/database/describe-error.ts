import { Failure, Interrupted, UsageFailure } from '../errors.ts'
import { verdictOn, wouldHideRows } from './failures.ts'

/** Why a command failed whose connection to the database ended, however it ended. */
export const LOST = 'the connection to the database was lost'

/**
 * An error as one line. Postgres' own message stays: it names a full disk. What a lost connection has left undone, tell()
 * has said before. `command`: for advice on what to do next
 */
export function describeError(error: unknown, command = ''): string {
  if (error instanceof Failure || error instanceof UsageFailure || error instanceof Interrupted)
    return error.message
  if (verdictOn(error) === 'cut') return `${LOST}: run the same command again`
  const { name, message, code = '' } = error as { name?: string; message?: string; code?: string }
  const text = (message ?? String(error)).replaceAll(/\s+/g, ' ')
  if (code === READ_ONLY)
    return 'the database is read-only: it is a standby, or default_transaction_read_only is on; name the primary in DATABASE_URL'
  if (wouldHideRows(error)) return `${ROWS_HIDDEN} (${text})`
  if (name !== 'PostgresError') return `unexpected error: ${text}`
  const advice = code === '42501' ? `; ${PRIVILEGED_BY[command] ?? PRIVILEGED_AS_OWNER}` : ''
  return `the database refused: ${text} (SQLSTATE ${code})${advice}`
}

/** Why a statement failed that row level security would have given a part of its rows. */
export const ROWS_HIDDEN =
  'row level security would hide rows from this role: axport doctor names the table and how to end that'

/** SQLSTATE read_only_sql_transaction. */
const READ_ONLY = '25006'

/** How a role gets the privileges for a command; other commands are for the owner. */
const PRIVILEGED_BY: Record<string, string> = {
  serve: 'a role that serves gets its privileges by axport migrate --grant ROLE',
  import: 'a role that imports gets its privileges by axport migrate --grant-loader ROLE',
}
const PRIVILEGED_AS_OWNER = 'run this command as the owner of the tables'
