/**
 * What the supervisor and its workers tell each other, over the channel that the runtime opens between a
 * process and its child. More may be asked of a worker this way: its measurements, for one.
 */

/** To the supervisor: the database is open and its schema current; then, that the worker listens. */
export type FromWorker = { kind: 'prepared' } | { kind: 'listening' }

/** To a worker: share this port; read the certificate again; finish what is in flight and end. */
export type ToWorker = { kind: 'listen'; port: number } | { kind: 'reload' } | { kind: 'stop' }
