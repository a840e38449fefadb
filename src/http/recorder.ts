import { type Disclosure, recordDisclosures } from '../assessments/disclosure.ts'
import { ClientGone, DatabaseUnavailable, StatementTimeout } from '../postgres/failures.ts'
import type { ServingDatabase } from '../postgres/pool/serving-database.ts'

/** Disclosures that one statement records at most: some hundred kilobytes. */
const MOST = 50

/** The statement's own lane in the line for a connection: no client id has a colon. */
const LANE = 'disclosures:'

interface Waiting {
  disclosure: Disclosure
  signal: AbortSignal
  /** Whether there is no time to run the statement once more. */
  isLate: boolean
  resolve(): void
  reject(error: unknown): void
}

/**
 * Records disclosures, one statement at a time: those that come while one is on its way are recorded together by the
 * next. The disk is waited for once for all of them, and nobody waits for more to come.
 */
export class Recorder {
  #waiting: Waiting[] = []
  #isBusy = false

  constructor(private readonly pool: ServingDatabase) {}

  /**
   * Resolves when it is committed.
   * @throws what the pool throws; ClientGone when the client hangs up, and then it may be recorded or not
   */
  async record(disclosure: Disclosure, signal: AbortSignal, isLate: boolean): Promise<void> {
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
      const together = this.#waiting.splice(0, MOST).filter(({ signal }) => !signal.aborted)
      if (together.length > 0) await this.#recordTogether(together)
    }
    this.#isBusy = false
  }

  /** Gives the error of a server that takes nothing now. */
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

  /** One that the server refuses is not to take others with it. */
  async #recordEach(all: Waiting[]): Promise<unknown> {
    for (const one of all) {
      const error = await this.#recordTogether([one])
      if (error !== undefined) return this.#giveUp(all, error)
    }
    return undefined
  }

  /** Nobody waits for such a server once more: the answers behind would take longer than a request may. */
  #giveUp(all: Waiting[], error: unknown): unknown {
    for (const { reject } of [...all, ...this.#waiting.splice(0)]) reject(error)
    return error
  }

  /**
   * Not ended by a client that hangs up: it is for others as well. Run once more after a cut, unless all of them have waited
   * for long.
   */
  async #send(all: Waiting[]): Promise<void> {
    const asker = { signal: new AbortController().signal, hasOther: all.every(({ isLate }) => isLate) }
    await recordDisclosures(
      this.pool.forRequest(asker, LANE),
      all.map(({ disclosure }) => disclosure),
    )
  }
}

/** Whether none of them can be recorded now. */
const isOfServer = (error: unknown) =>
  error instanceof DatabaseUnavailable || error instanceof StatementTimeout
