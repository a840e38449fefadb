/** Where changes of state are told. */
export interface WatchLog {
  info(details: object, message: string): void
  warn(details: object, message: string): void
}

/** Milliseconds between two looks at a database that is gone: doubled each time, never the same for two processes. */
const FIRST_PAUSE = 100
const LONGEST_PAUSE = 1000

/**
 * What is known of the database, and the line in the log when that changes; none for what is known already.
 * Reasons are in words and hold nothing of a URL, a statement or a row.
 */
export class Watch {
  /** Why it can not be reached; undefined when it can, as far as is known. */
  reason: string | undefined
  isReadOnly = false
  /** Attempts in a row to open one more connection that failed while others were of use. */
  #refusals = 0
  #attempts = 0
  #since = 0

  constructor(private readonly log: WatchLog) {}

  /** @returns whether that is news */
  lost(reason: string): boolean {
    const isNews = this.reason === undefined
    this.reason = reason
    if (!isNews) return false
    this.#attempts = 0
    this.#since = performance.now()
    this.log.warn({ reason }, 'the database can not be reached')
    return true
  }

  /** A connection was opened. */
  found(): void {
    this.#refusals = 0
    this.#attempts = 0
    if (this.reason === undefined) return
    this.reason = undefined
    const seconds = Math.round((performance.now() - this.#since) / 100) / 10
    this.log.info({ seconds }, 'the database can be reached again')
  }

  /** One more connection could not be opened, while others are of use. Told when it happens again at once. */
  refusedConnection(reason: string): void {
    if (++this.#refusals !== 2) return
    this.log.warn({ reason }, 'the database takes no further connection; requests share those that are open')
  }

  refusedWrite(): void {
    if (this.isReadOnly) return
    this.isReadOnly = true
    this.log.warn({}, 'the database is read-only: no tokens can be issued')
  }

  wrote(): void {
    if (!this.isReadOnly) return
    this.isReadOnly = false
    this.log.info({}, 'the database takes writes again')
  }

  /** Milliseconds until the next look. */
  pause(): number {
    const longest = Math.min(FIRST_PAUSE * 2 ** this.#attempts++, LONGEST_PAUSE)
    return longest * (0.5 + Math.random() / 2)
  }
}
