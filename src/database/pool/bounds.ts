import type { Write } from '../writes.ts'

/** The limits of a pool. */
export interface PoolBounds {
  /** Connections at most. */
  size: number
  /** For a connection, and for any sign of life from the database. */
  waitMs: number
  /** For a statement, which the server ends then, and for a lease. */
  statementMs: number
  /** From which a statement is logged as slow. */
  slowMs: number
}

/** For what ends a lease: the report of the server's own statement_timeout, or a cancel request. */
export const GRACE_MS = 1000

/** How long a request may take in the database: waiting for connections, its statements, and a repetition together. */
export const requestMs = ({ waitMs, statementMs }: Pick<PoolBounds, 'waitMs' | 'statementMs'>): number =>
  waitMs + statementMs + GRACE_MS

/** What has to be left of a request's time for its lease to be repeated. */
const REPETITION_MS = 500

/** Whether a lease may be repeated. @param deadline of its request, by the clock */
export const mayRepeat = (deadline: number, now: number): boolean =>
  now + REPETITION_MS <= deadline - GRACE_MS

/** The request that a lease is for. */
export interface Requester {
  /** Aborted when the client hangs up: the lease's statement is cancelled, or the lease leaves the queue. */
  signal?: AbortSignal | undefined
  /** When the request has to be over, by the clock. By default requestMs() after the lease was asked for. */
  deadline?: number | undefined
  /** How often the lease may be tried: twice by default. */
  attempts?: 1 | 2
  /** What the lease writes. */
  writes?: Write | undefined
}
