import type { Write } from '../files.ts'
import type { Service } from './client.ts'
import type { Form } from './formats.ts'
import type { Query } from './query.ts'

/** What to pull, from where, and into what. */
export interface PullJob extends Form {
  service: Service
  query: Query
  /** A path, or a function that takes the bytes in their order. */
  out: string | Write
}

/** How far a pull is, in records. */
export type PullProgress =
  /** The records of an earlier run are read from its partial file. */
  | { phase: 'resuming'; done: number; total: number }
  | { phase: 'pulling'; done: number; total: number /** Of `done`, by an earlier run. */; resumed: number }
  | { phase: 'writing'; done: number; total: number }

/** What a pull reports, and the signal that ends it. */
export interface PullObserver {
  onProgress(progress: PullProgress): void
  /** A request failed, and is sent again in so many milliseconds. */
  onPause(reason: string, milliseconds: number): void
  /** A line for the operator. */
  onNote(text: string): void
  signal: AbortSignal
}

/** The result of a finished pull. */
export interface PullResult {
  records: number
  /** How many of them an earlier, interrupted run had read. */
  resumed: number
  /** How often everything was read again, because the data changed. */
  restarts: number
}
