import { type PendingDisclosure, recordDisclosures } from '../assessments/disclosure.ts'
import { ClientGone, DatabaseUnavailable, StatementTimeout } from '../postgres/failures.ts'
import type { ServingDatabase } from '../postgres/pool/serving-database.ts'

/** Disclosures that one statement records: some hundred kilobytes. */
const MAX_TOGETHER = 50

/** A lane of its own in the queue for a connection: no client id has a colon. */
const LANE = 'disclosures:'

interface Waiting {
  disclosure: PendingDisclosure
  signal: AbortSignal
  /** Whether there is no time to run the statement twice. */
  isLate: boolean
  resolve(): void
  reject(error: unknown): void
}

/**
 * Records disclosures, one statement at a time. Disclosures that arrive meanwhile are recorded together by the next
 * statement, with one write to the disk; no statement waits for more disclosures to arrive.
 */
export class Recorder {
  #waiting: Waiting[] = []
  #isBusy = false

  constructor(private readonly pool: ServingDatabase) {}

  /**
   * Resolves after the commit.
   * @throws what the pool throws; ClientGone when the client hangs up, and then the disclosure may be recorded or not
   */
  async record(disclosure: PendingDisclosure, signal: AbortSignal, isLate: boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const hangUp = () => reject(new ClientGone())
    if (signal.aborted) throw new ClientGone()
    signal.addEventListener('abort', hangUp, { once: true })
    this.#waiting.push({ disclosure, signal, isLate, resolve, reject })
    if (!this.#isBusy) void this.#recordAll()
    try {
      await promise
    } finally {
      signal.removeEventListener('abort', hangUp)
    }
  }

  async #recordAll(): Promise<void> {
    this.#isBusy = true
    while (this.#waiting.length > 0) {
      const together = this.#waiting.splice(0, MAX_TOGETHER).filter(({ signal }) => !signal.aborted)
      if (together.length > 0) await this.#recordTogether(together)
    }
    this.#isBusy = false
  }

  /** @returns the error if no disclosure can be recorded now */
  async #recordTogether(all: Waiting[]): Promise<unknown> {
    try {
      await this.#send(all)
      for (const { resolve } of all) resolve()
    } catch (error) {
      if (isOfServer(error)) return this.#giveUp(all, error)
      if (all.length > 1) return await this.#recordEach(all)
      for (const { reject } of all) reject(error)
    }
    return undefined
  }

  /** The statement of all was refused, perhaps because of one of them. */
  async #recordEach(all: Waiting[]): Promise<unknown> {
    for (const one of all) {
      const error = await this.#recordTogether([one])
      if (error !== undefined) return this.#giveUp(all, error)
    }
    return undefined
  }

  /** All that wait fail: another attempt would take longer than a request may. */
  #giveUp(all: Waiting[], error: unknown): unknown {
    for (const { reject } of [...all, ...this.#waiting.splice(0)]) reject(error)
    return error
  }

  /** A client that hangs up does not cancel the statement. It runs twice after a cut, unless all have waited for long. */
  async #send(all: Waiting[]): Promise<void> {
    const requester = { signal: new AbortController().signal, hasOther: all.every(({ isLate }) => isLate) }
    await recordDisclosures(
      this.pool.forRequest(requester, LANE),
      all.map(({ disclosure }) => disclosure),
    )
  }
}

/** Whether no disclosure can be recorded now. */
const isOfServer = (error: unknown) =>
  error instanceof DatabaseUnavailable || error instanceof StatementTimeout
