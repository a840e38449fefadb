import { Failure, Interrupted, UsageFailure } from '../errors.ts'

/**
 * An error as one line for an operator. Messages of Postgres are included: they name a missing privilege or a full disk.
 * @param command the one that failed, for advice on missing privileges
 */
export function describeError(error: unknown, command = ''): string {
  if (error instanceof Failure || error instanceof UsageFailure || error instanceof Interrupted)
    return error.message
  const { name, message, code } = error as { name?: string; message?: string; code?: string }
  const text = (message ?? String(error)).replaceAll(/\s+/g, ' ')
  if (code?.startsWith('CONNECTION_'))
    return 'the connection to the database was lost; nothing half-done is left'
  if (name !== 'PostgresError') return `unexpected error: ${text}`
  const advice = code === '42501' ? `; ${PRIVILEGED_BY[command] ?? PRIVILEGED_AS_OWNER}` : ''
  return `the database refused: ${text} (SQLSTATE ${code})${advice}`
}

/** How a role gets the privileges for a command; other commands are for the owner. */
const PRIVILEGED_BY: Record<string, string> = {
  serve: 'a role that serves gets its privileges by axport migrate --grant ROLE',
  import: 'a role that imports gets its privileges by axport migrate --grant-loader ROLE',
  backup: 'run this command as the owner of the tables, or as a member of pg_read_all_data',
}
const PRIVILEGED_AS_OWNER = 'run this command as the owner of the tables'
