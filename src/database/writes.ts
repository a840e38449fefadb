import type { StateLog } from './bounds.ts'
import type { Refusal } from './failures.ts'

/** What the service writes, each apart: a full disk may take one and refuse the other. */
export type Write = 'tokens' | 'disclosures'

const WORDS: Record<Refusal, string> = {
  'read-only': 'the database is read-only (a standby, or default_transaction_read_only)',
  'disk-full': 'the disk of the database is full',
  'out-of-memory': 'the database is out of memory',
  short: 'the database is short of a resource',
}

const MEANING: Record<Write, string> = {
  tokens: 'no tokens can be issued',
  disclosures: 'no disclosures can be recorded, so that pages and records are withheld',
}

const AGAIN: Record<Write, string> = {
  tokens: 'tokens can be issued again',
  disclosures: 'disclosures can be recorded again',
}

/** A refusal that lasts is logged this often. */
const LOG_INTERVAL_MS = 60_000

/** Which writes the database refuses, as last found. A change is a line in the log, without any value. */
export class Writes {
  /** Statements that were refused because the server was short of something. */
  shortages = 0
  readonly #refused = new Map<Write, Refusal>()
  /** By performance.now(), for each line. */
  readonly #loggedAt = new Map<string, number>()

  constructor(private readonly log: StateLog) {}

  get isReadOnly(): boolean {
    return [...this.#refused.values()].includes('read-only')
  }

  /** Why the database refuses a write, for people; undefined if it does not. */
  why(write: Write): string | undefined {
    const refusal = this.#refused.get(write)
    return refusal && `${WORDS[refusal]}: ${MEANING[write]}`
  }

  /**
   * A statement was refused.
   * @param write what it was to write; undefined if it was to read, or to write a note
   * @param code its SQLSTATE, for the log
   */
  refused(refusal: Refusal, write: Write | undefined, code?: string): void {
    if (refusal !== 'read-only') this.shortages++
    if (write) this.#refused.set(write, refusal)
    const line = (write && this.why(write)) ?? `${WORDS[refusal]}: a statement was refused`
    const now = performance.now()
    if (now - (this.#loggedAt.get(line) ?? Number.NEGATIVE_INFINITY) < LOG_INTERVAL_MS) return
    this.#loggedAt.set(line, now)
    this.log.warn({ code }, line)
  }

  /** A write has succeeded, or could have. */
  accepted(write: Write): void {
    const line = this.why(write)
    if (line === undefined) return
    this.#refused.delete(write)
    this.#loggedAt.delete(line)
    this.log.info({}, AGAIN[write])
  }

  /** The server has said whether it is read-only. */
  noteReadOnly(isReadOnly: boolean): void {
    if (isReadOnly && this.#refused.get('tokens') !== 'read-only') this.refused('read-only', 'tokens')
    if (isReadOnly) return
    for (const [write, refusal] of [...this.#refused]) if (refusal === 'read-only') this.accepted(write)
  }
}
