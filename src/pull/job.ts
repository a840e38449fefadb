import type { Write } from '../files.ts'
import type { Patience, Service } from './client.ts'
import type { Form } from './formats.ts'
import type { Query } from './query.ts'

/** What to pull, from where, and into what. */
export interface PullJob extends Form {
  service: Service
  patience: Patience
  query: Query
  /** A path, or what takes the bytes one after the other. */
  out: string | Write
}

/** How far a pull is, in records. */
export type PullProgress =
  /** What an earlier run has kept is read. */
  | { phase: 'resuming'; done: number; total: number }
  | { phase: 'pulling'; done: number; total: number /** Of `done`, by an earlier run. */; resumed: number }
  | { phase: 'writing'; done: number; total: number }

/** Whoever watches a pull. */
export interface Watcher {
  onProgress(progress: PullProgress): void
  /** The service does not answer well; the next attempt is in so many milliseconds. */
  onPause(reason: string, milliseconds: number): void
  /** Something worth a line that stays. */
  onNote(text: string): void
  /** Ends the pull. */
  signal: AbortSignal
}

/** What a finished pull has done. */
export interface PullResult {
  records: number
  /** How many of them an earlier, interrupted run had read. */
  resumed: number
  /** How often the data changed so that all had to be read again. */
  restarts: number
}
