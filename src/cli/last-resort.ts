let log: { error(details: object, message: string): void } | undefined

/** From now on a connection that is cut ends no process: a service has others, and is to outlive its database. */
export function surviveCuts(serviceLog: NonNullable<typeof log>): void {
  log = serviceLog
}

/**
 * Whether the process may go on after an error that nobody caught. It may after postgres.js wrote to a
 * connection that is gone, while a service runs; anything else leaves nobody knows what behind.
 */
export function isSurvived(error: Error): boolean {
  if (!log || !/socket\.write/.test(error.message)) return false
  log.error({ reason: error.message }, 'a connection to the database was cut where nobody looked')
  return true
}
