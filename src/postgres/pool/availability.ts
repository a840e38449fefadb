import { MACHINE } from '../connection/clock.ts'

/** Where changes of state are told. */
export interface StateLog {
  info(details: object, message: string): void
  warn(details: object, message: string): void
}

/** Milliseconds between two looks at a database that is gone: doubled each time, never the same for two processes. */
const FIRST_PAUSE = 100
const LONGEST_PAUSE = 1000

/** Milliseconds between two lines about statements that a server is too short of something to run. */
const REPEAT = 60_000

const READ_ONLY = 'the database is read-only: no tokens can be issued'

/**
 * What is known of the database, and the line in the log when that changes; none for what is known already.
 * Reasons are in words and hold nothing of a URL, a statement or a row.
 */
export class Availability {
  /** Why it cannot be reached; undefined when it can, as far as is known. */
  reason: string | undefined
  /** Why it takes no writes; undefined when it does, as far as is known. */
  refusal: string | undefined
  /** Statements that the server refused because it is short of disk, memory or the like. */
  shortages = 0
  /** Whether the refusal is in the log, and by the clock the last line about a shortage. */
  #isTold = false
  #toldAt = Number.NEGATIVE_INFINITY
  /** Attempts in a row to open one more connection that failed while others were of use. */
  #refusals = 0
  #attempts = 0
  #since = 0

  constructor(
    private readonly log: StateLog,
    private readonly clock = MACHINE,
  ) {}

  /** @returns whether that is news */
  lost(reason: string): boolean {
    const isNews = this.reason === undefined
    this.reason = reason
    if (!isNews) return false
    this.#attempts = 0
    this.#since = this.clock.now()
    this.log.warn({ reason }, 'the database cannot be reached')
    return true
  }

  /** A connection was opened. */
  found(): void {
    this.#refusals = 0
    this.#attempts = 0
    if (this.reason === undefined) return
    this.reason = undefined
    const seconds = Math.round((this.clock.now() - this.#since) / 100) / 10
    this.log.info({ seconds }, 'the database can be reached again')
  }

  /** One more connection could not be opened, while others are of use. Told when it happens again at once. */
  refusedConnection(reason: string): void {
    if (++this.#refusals !== 2) return
    this.log.warn({ reason }, 'the database takes no further connection; requests share those that are open')
  }

  /** Whether the database is known to be read-only. */
  get isReadOnly(): boolean {
    return this.refusal === READ_ONLY
  }

  /** Somebody looked, or a write was refused: the database is read-only, or is not. */
  sawReadOnly(isReadOnly: boolean): void {
    if (!isReadOnly && this.isReadOnly) this.wrote()
    if (!isReadOnly || this.isReadOnly) return
    this.refusal = READ_ONLY
    this.#tell(READ_ONLY)
  }

  /** A statement was refused because the server is short of something: so may writes be, until one succeeds. */
  ranShort(reason: string): void {
    this.shortages++
    this.refusal = reason
    const now = this.clock.now()
    if (now - this.#toldAt < REPEAT) return
    this.#toldAt = now
    this.#tell(reason)
  }

  /** A token was issued, or could be. */
  wrote(): void {
    this.refusal = undefined
    if (!this.#isTold) return
    this.#isTold = false
    this.log.info({}, 'the database takes writes again')
  }

  #tell(refusal: string): void {
    this.#isTold = true
    this.log.warn({}, refusal)
  }

  /** Milliseconds until the next look. */
  pause(): number {
    return this.clock.about(Math.min(FIRST_PAUSE * 2 ** this.#attempts++, LONGEST_PAUSE))
  }
}
