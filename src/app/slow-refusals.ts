/** Refusals of a second that are sent at once. An ordinary client gets a 401 or a 404 now and then. */
export const AT_ONCE = 100

const DELAY_MS = 1000

/**
 * Delays refusals once there are many. A client that repeats at once what was refused costs as much as one that is served:
 * without a delay, thousands of such connections leave no time for pages. A delayed refusal costs its connection, which is
 * open anyway, and some kilobytes.
 */
export class SlowRefusals {
  /** Send the refusals that are delayed now. */
  readonly #delayed = new Set<() => void>()
  #second = 0
  #count = 0
  #isStopping = false

  /** How many are delayed now. */
  get delayed(): number {
    return this.#delayed.size
  }

  /** Whether the next refusal of this second has to be delayed. */
  get areMany(): boolean {
    return this.#count >= AT_ONCE && this.#second === present()
  }

  /** Counts a refusal. @returns whether it has to be delayed */
  isOneTooMany(): boolean {
    const isOneTooMany = this.areMany
    this.#count = this.#second === present() ? this.#count + 1 : 1
    this.#second = present()
    return isOneTooMany && !this.#isStopping
  }

  /** Resolves after a second, or when the client hangs up, or when the service stops. */
  async delay(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, DELAY_MS)
    this.#delayed.add(resolve)
    signal.addEventListener('abort', () => resolve(), { once: true })
    await promise
    clearTimeout(timer)
    this.#delayed.delete(resolve)
  }

  /** Sends all refusals at once from now on. */
  stop(): void {
    this.#isStopping = true
    for (const send of this.#delayed) send()
  }
}

/** The second of the clock. */
const present = () => Math.floor(performance.now() / 1000)
