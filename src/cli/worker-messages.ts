import type { MetricsJson } from '../http/admin/metrics.ts'
import type { Readiness } from '../http/admin/readiness.ts'

/**
 * What the supervisor and its workers tell each other, over the channel that the runtime opens between a
 * process and its child.
 */

/** What a worker can be asked for. */
export interface Reports {
  /** That it is there: the answer needs nothing but its event loop. */
  presence: true
  readiness: Readiness
  metrics: MetricsJson
}

/** To the supervisor: the database is open and its schema current; that the worker listens; what was asked. */
export type FromWorker =
  | { kind: 'prepared' }
  | { kind: 'listening' }
  | { kind: 'report'; question: number; report: Reports[keyof Reports] }

/** To a worker: share this port; read the certificate again; report on something; finish what is in flight and end. */
export type ToWorker =
  | { kind: 'listen'; port: number }
  | { kind: 'reload' }
  | { kind: 'ask'; question: number; about: keyof Reports }
  | { kind: 'stop' }
