import { ClientGone, QueueTimeout } from './failures.ts'

/** Connections that no integration takes from the others. */
const KEPT_FREE = 2

interface Waiter {
  integration: string | undefined
  resolve(): void
  reject(error: Error): void
}

/**
 * Who may use a connection of a pool, and who waits for one. First come is first served; but an answer that only has to be
 * recorded goes before what is still to be read, and an integration has two connections less than there are, and at least
 * one. An integration at its limit is passed over.
 */
export class ConnectionQueue {
  #inUse = 0
  /** How many each integration uses. None is zero. */
  readonly #used = new Map<string, number>()
  readonly #waiters = new Set<Waiter>()
  /** Those that go before all others. */
  readonly #urgent = new Set<Waiter>()

  /** @param size connections */
  constructor(public size: number) {}

  get inUse(): number {
    return this.#inUse
  }

  get waiting(): number {
    return this.#waiters.size + this.#urgent.size
  }

  /** Changes the number of connections. */
  resize(size: number): void {
    this.size = size
    this.#serve()
  }

  /**
   * Waits for a connection, until leave().
   * @param integration undefined for what belongs to none: recordings, the service itself
   * @param isUrgent goes before all others
   * @throws QueueTimeout, ClientGone, and what failAll() is called with
   */
  async enter(
    integration: string | undefined,
    waitMs: number,
    signal?: AbortSignal,
    isUrgent = false,
  ): Promise<void> {
    if (signal?.aborted) throw new ClientGone()
    if (this.#hasRoom(integration)) return this.#take(integration)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter: Waiter = { integration, resolve, reject }
    const late = () => reject(new QueueTimeout('all connections to the database are in use'))
    const hangUp = () => reject(new ClientGone())
    const timer = setTimeout(late, Math.max(0, waitMs))
    signal?.addEventListener('abort', hangUp, { once: true })
    const queue = isUrgent ? this.#urgent : this.#waiters
    queue.add(waiter)
    try {
      await promise
    } finally {
      queue.delete(waiter)
      clearTimeout(timer)
      signal?.removeEventListener('abort', hangUp)
    }
  }

  /** Gives back what enter() has taken. */
  leave(integration: string | undefined): void {
    this.#inUse--
    if (integration !== undefined) {
      const left = (this.#used.get(integration) ?? 1) - 1
      if (left > 0) this.#used.set(integration, left)
      else this.#used.delete(integration)
    }
    this.#serve()
  }

  failAll(error: Error): void {
    for (const queue of [this.#urgent, this.#waiters]) {
      for (const waiter of queue) waiter.reject(error)
      queue.clear()
    }
  }

  #hasRoom(integration: string | undefined): boolean {
    if (this.#inUse >= this.size) return false
    const most = Math.max(1, this.size - KEPT_FREE)
    return integration === undefined || (this.#used.get(integration) ?? 0) < most
  }

  #take(integration: string | undefined): void {
    this.#inUse++
    if (integration !== undefined) this.#used.set(integration, (this.#used.get(integration) ?? 0) + 1)
  }

  #serve(): void {
    this.#serveFrom(this.#urgent)
    this.#serveFrom(this.#waiters)
  }

  #serveFrom(queue: Set<Waiter>): void {
    for (const waiter of queue) {
      if (this.#inUse >= this.size) return
      if (!this.#hasRoom(waiter.integration)) continue
      this.#take(waiter.integration)
      queue.delete(waiter)
      waiter.resolve()
    }
  }
}
