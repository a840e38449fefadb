import { SYSTEM_CLOCK } from '../connection/clock.ts'

/** A log for changes of the state. */
export interface StateLog {
  info(details: object, message: string): void
  warn(details: object, message: string): void
}

/** The pause between two attempts to connect doubles from the first to the last. */
const FIRST_PAUSE_MS = 100
const LAST_PAUSE_MS = 1000

/** A shortage that lasts is logged this often. */
const SHORTAGE_LOG_INTERVAL_MS = 60_000

const READ_ONLY = 'the database is read-only: no tokens can be issued'

/** Whether the database can be reached and written, as last found. A change is a line in the log, without any value. */
export class Availability {
  /** Why the database cannot be reached; undefined if it can. */
  unreachable: string | undefined
  /** Why the database takes no writes; undefined if it does. */
  unwritable: string | undefined
  /** Statements that the server refused because it was short of disk, memory or the like. */
  shortages = 0
  /** Whether the log says that the database takes no writes. */
  #isLogged = false
  #shortageLoggedAt = Number.NEGATIVE_INFINITY
  /** Further connections that were refused in a row. */
  #refused = 0
  #pauses = 0
  #unreachableSince = 0

  constructor(
    private readonly log: StateLog,
    private readonly clock = SYSTEM_CLOCK,
  ) {}

  noteUnreachable(reason: string): void {
    if (this.unreachable === undefined) {
      this.#pauses = 0
      this.#unreachableSince = this.clock.now()
      this.log.warn({ reason }, 'the database cannot be reached')
    }
    this.unreachable = reason
  }

  /** A connection was opened. */
  noteReachable(): void {
    this.#refused = 0
    this.#pauses = 0
    if (this.unreachable === undefined) return
    this.unreachable = undefined
    const seconds = Math.round((this.clock.now() - this.#unreachableSince) / 100) / 10
    this.log.info({ seconds }, 'the database can be reached again')
  }

  /** A further connection was refused while others work. Logged when it happens twice in a row. */
  noteRefusedConnection(reason: string): void {
    const message = 'the database takes no further connection; requests share those that are open'
    if (++this.#refused === 2) this.log.warn({ reason }, message)
  }

  get isReadOnly(): boolean {
    return this.unwritable === READ_ONLY
  }

  noteReadOnly(isReadOnly: boolean): void {
    if (isReadOnly && !this.isReadOnly) this.#noteUnwritable(READ_ONLY)
    if (!isReadOnly && this.isReadOnly) this.noteWritable()
  }

  /** A statement was refused because of a shortage. Writes count as refused until one succeeds. */
  noteShortage(reason: string): void {
    this.shortages++
    this.unwritable = reason
    const now = this.clock.now()
    if (now - this.#shortageLoggedAt < SHORTAGE_LOG_INTERVAL_MS) return
    this.#shortageLoggedAt = now
    this.#noteUnwritable(reason)
  }

  /** A token was issued, or could have been. */
  noteWritable(): void {
    this.unwritable = undefined
    if (this.#isLogged) this.log.info({}, 'the database takes writes again')
    this.#isLogged = false
  }

  #noteUnwritable(reason: string): void {
    this.unwritable = reason
    this.#isLogged = true
    this.log.warn({}, reason)
  }

  /** Milliseconds until the next attempt to connect. */
  nextPauseMs(): number {
    return this.clock.jitter(Math.min(FIRST_PAUSE_MS * 2 ** this.#pauses++, LAST_PAUSE_MS))
  }
}
