/** For how long the refusal of a request waits. */
const HOLD_MS = 1000

/** Refusals that wait at most, of some kilobytes each. */
const MAX_HELD = 5000

/**
 * Holds refusals back for a second. A client that repeats at once what was refused would otherwise have the process refuse
 * tens of thousands of requests a second, and do little else. What is held does not count as in work.
 */
export class Overload {
  /** End the wait of those that are held. */
  readonly #held = new Set<() => void>()
  /** Errors of clients in one second of the clock. */
  #second = 0
  #errors = 0
  #isStopping = false

  /** @param maxErrors errors of clients in a second that are answered at once */
  constructor(private readonly maxErrors: number) {}

  /** How many are held. */
  get held(): number {
    return this.#held.size
  }

  /** Counts an error of a client. @returns whether there are so many that it has to be held, too */
  countError(): boolean {
    const second = Math.floor(performance.now() / 1000)
    if (second !== this.#second) this.#errors = 0
    this.#second = second
    return ++this.#errors > this.maxErrors
  }

  /**
   * Waits for a second, until the client hangs up, or until the service stops.
   * @returns false at once if too many are held: then the connection is to be closed
   */
  async hold(signal: AbortSignal): Promise<boolean> {
    if (this.#isStopping || signal.aborted) return true
    if (this.#held.size >= MAX_HELD) return false
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, HOLD_MS)
    this.#held.add(resolve)
    signal.addEventListener('abort', () => resolve(), { once: true })
    await promise
    clearTimeout(timer)
    this.#held.delete(resolve)
    return true
  }

  /** Holds nothing any more. */
  stop(): void {
    this.#isStopping = true
    for (const resolve of this.#held) resolve()
  }
}
