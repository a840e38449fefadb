/** A log for changes of the state. */
export interface StateLog {
  info(details: object, message: string): void
  warn(details: object, message: string): void
}

/**
 * What a pool does:
 *
 *     up       connections can be opened, as far as is known. Leases wait for one.
 *     down     the database does not answer. Leases fail at once; attempts to connect go on until one succeeds.
 *     closed   for good
 *
 *     up → down     an attempt fails while no connection is open, or a probe and the open connections get no answer
 *     down → up     a connection was opened
 *     any → closed  close()
 */
export type PoolState = { is: 'up' } | Down | { is: 'closed' }

interface Down {
  is: 'down'
  /** For people, without any secret. */
  reason: string
  /** By the clock: when it began, and when the last attempt to connect failed. */
  since: number
  failedAt: number
}

/** Logs that the database was lost, or found again. */
export function logChange(log: StateLog, before: PoolState, state: PoolState, now: number): void {
  if (state.is === 'down') log.warn({ reason: state.reason }, 'the database cannot be reached')
  if (state.is !== 'up' || before.is !== 'down') return
  const seconds = (ms: number) => Math.round(ms / 100) / 10
  // The rest is the pause before the attempt that succeeded, and that attempt.
  const refused_seconds = seconds(before.failedAt - before.since)
  log.info({ seconds: seconds(now - before.since), refused_seconds }, 'the database can be reached again')
}
