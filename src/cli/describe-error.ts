import { Failure, Interrupted, UsageFailure } from '../errors.ts'

/**
 * One line for an operator. A database's own message says what a role lacks or what a disk ran out of.
 * @param command the one that failed, for which its role may lack privileges
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

/** How a role comes by what a command needs; the other commands are for the owner. */
const PRIVILEGED_BY: Record<string, string> = {
  serve: 'a role that serves gets its privileges by axport migrate --grant ROLE',
  import: 'a role that imports gets its privileges by axport migrate --grant-loader ROLE',
  backup: 'run this command as the owner of the tables, or as a member of pg_read_all_data',
}
const PRIVILEGED_AS_OWNER = 'run this command as the owner of the tables'
