/** The limits of a pool. */
export interface PoolBounds {
  /** Connections at most. */
  size: number
  /** For a connection, and for any sign of life from the database. */
  waitMs: number
  /** For a statement, which the server ends then. */
  statementMs: number
  /** From which a statement is logged as slow. */
  slowMs: number
}

/** For what ends a statement: the report of the server's own statement_timeout, or a cancel request. */
export const GRACE_MS = 1000

/** How long a request may take in the database: waiting for a connection, its statements, and a repetition together. */
export const requestMs = ({ waitMs, statementMs }: Pick<PoolBounds, 'waitMs' | 'statementMs'>): number =>
  waitMs + statementMs + GRACE_MS

/** When the work for a request is over, finished or not. */
export interface RequestBounds {
  /** Aborted when the client hangs up: a statement that runs for long is cancelled, and one that waits leaves the queue. */
  signal?: AbortSignal | undefined
  /** When the request has to be over, by performance.now(). By default requestMs() from now on. */
  deadline?: number | undefined
}

/** A log for changes of the database. */
export interface StateLog {
  info(details: object, message: string): void
  warn(details: object, message: string): void
}
