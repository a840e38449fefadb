import type { Clock } from '../connection/clock.ts'
import type { Connection } from '../connection/connection.ts'
import { ClientGone, Displaced, QueueTimeout } from '../failures.ts'
import { GRACE_MS, type PoolBounds } from './bounds.ts'
import { FairQueue } from './fair-queue.ts'

/** A lease that waits for a connection. */
interface Waiter {
  lane: string
  /** Of its request, by the clock. */
  deadline: number
  resolve(connection: Connection): void
  fail(error: Error): void
}

/** The leases that wait for a connection, in a queue of lanes. Each waits no longer than it may. */
export class Waiters {
  readonly #queue = new FairQueue<Waiter>()

  constructor(
    private readonly bounds: PoolBounds,
    private readonly clock: Clock,
  ) {}

  get size(): number {
    return this.#queue.size
  }

  /** How many wait in each lane. */
  lanes(): IterableIterator<[name: string, count: number]> {
    return this.#queue.waiting()
  }

  /**
   * Waits for a connection, which whoever calls next() gives. @param added is called when the lease is in the queue
   * @throws QueueTimeout, Displaced, ClientGone, and what failAll() is called with
   */
  async wait(lane: string, deadline: number, signal: AbortSignal | undefined, added: () => void) {
    const { promise, resolve, reject } = Promise.withResolvers<Connection>()
    const fail = (error: Error) => {
      this.#queue.delete(lane, waiter)
      reject(error)
    }
    const waiter: Waiter = { lane, deadline, resolve, fail }
    this.#queue.add(lane, waiter)
    const waitMs = Math.min(this.bounds.waitMs, deadline - GRACE_MS - this.clock.now())
    const tooLate = () => fail(new QueueTimeout('all connections to the database are in use'))
    const cancelTimeout = this.clock.after(waitMs, tooLate)
    const hangUp = () => fail(new ClientGone())
    signal?.addEventListener('abort', hangUp, { once: true })
    added()
    try {
      return await promise
    } finally {
      cancelTimeout()
      signal?.removeEventListener('abort', hangUp)
    }
  }

  /** Removes and returns the one whose turn it is, of the lanes that may have a connection. */
  next(mayHave: (lane: string) => boolean): Waiter | undefined {
    return this.#queue.next(mayHave)
  }

  /** Fails the last one of the longest lane, so that one more can wait in `lane`; false if no lane is longer. */
  displace(lane: string): boolean {
    const last = this.#queue.lastBut(lane)
    last?.fail(new Displaced('others have their turn'))
    return last !== undefined
  }

  failAll(error: Error): void {
    for (const waiter of this.#queue.all()) waiter.fail(error)
  }
}
