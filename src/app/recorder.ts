import { type PendingDisclosure, recordDisclosures } from '../assessments/disclosure.ts'
import { ClientGone, DatabaseUnavailable, StatementTimeout } from '../database/failures.ts'
import type { ServingDatabase } from '../database/pool.ts'
import { onTimeout } from '../within.ts'

/** Disclosures that one statement records: some hundred kilobytes. */
const MAX_TOGETHER = 50

interface Waiting {
  disclosure: PendingDisclosure
  /** Ends the wait. @param error why it is not known to be recorded */
  settle(error?: unknown): void
}

/**
 * Records disclosures, one statement at a time. Disclosures that arrive meanwhile are recorded together by the next
 * statement, with one write to the disk; no statement waits for more disclosures to arrive. Each statement has a deadline
 * of its own, because requests with several deadlines share it.
 */
export class Recorder {
  /** In the order of their arrival. */
  readonly #waiting = new Set<Waiting>()
  #isBusy = false

  constructor(private readonly database: ServingDatabase) {}

  /**
   * Resolves after the commit.
   * @throws what the database throws; ClientGone when the client hangs up, DatabaseUnavailable at the deadline of the
   *   request. The disclosure may be recorded all the same.
   */
  async record(
    disclosure: PendingDisclosure,
    { signal, deadline }: { signal: AbortSignal; deadline: number },
  ): Promise<void> {
    if (signal.aborted) throw new ClientGone()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting: Waiting = {
      disclosure,
      settle: error => {
        this.#waiting.delete(waiting)
        if (error === undefined) resolve()
        else reject(error)
      },
    }
    const hangUp = () => waiting.settle(new ClientGone())
    const why = () => this.database.writes.why('disclosures')?.split(':')[0] ?? 'it took too long'
    const tooLate = () => waiting.settle(new DatabaseUnavailable(why()))
    const cancelTimeout = onTimeout(deadline - performance.now(), tooLate)
    signal.addEventListener('abort', hangUp, { once: true })
    this.#waiting.add(waiting)
    if (!this.#isBusy) void this.#recordAll()
    try {
      await promise
    } finally {
      cancelTimeout()
      signal.removeEventListener('abort', hangUp)
    }
  }

  async #recordAll(): Promise<void> {
    this.#isBusy = true
    while (this.#waiting.size > 0) await this.#recordTogether([...this.#waiting].slice(0, MAX_TOGETHER))
    this.#isBusy = false
  }

  /** Settles all of them. */
  async #recordTogether(all: Waiting[]): Promise<void> {
    try {
      // A client that hangs up does not cancel the statement.
      const db = this.database.forRequest({ writes: 'disclosures' })
      const disclosures = all.map(({ disclosure }) => disclosure)
      await recordDisclosures(db, disclosures)
      this.database.writes.accepted('disclosures')
      for (const { settle } of all) settle()
    } catch (error) {
      // The statement of all may have been refused because of one of them.
      if (all.length > 1 && !isOfServer(error)) return await this.#recordEach(all)
      for (const { settle } of all) settle(error)
    }
  }

  async #recordEach(all: Waiting[]): Promise<void> {
    for (const one of all) if (this.#waiting.has(one)) await this.#recordTogether([one])
  }
}

/** Whether no disclosure can be recorded now. */
const isOfServer = (error: unknown) =>
  error instanceof DatabaseUnavailable || error instanceof StatementTimeout
