interface Waiter {
  lane: string
  since: number
}

/** The queue as the statements show it, and whether its lanes take turns. */
export class Turns {
  /** Counts the changes of the queue. */
  #step = 0
  readonly #waiting = new Map<number, Waiter>()
  /** By lane, the step of its last statement that had waited, and of the last one that was sent at all. */
  readonly #turnOf = new Map<string, number>()
  readonly #sentOf = new Map<string, number>()

  constructor(private readonly wrong: (what: string) => void) {}

  /** A statement enters the queue. */
  enter(id: number, lane: string): void {
    this.#waiting.set(id, { lane, since: ++this.#step })
  }

  /** A statement leaves the queue, for whatever reason. */
  leave(id: number): void {
    this.#waiting.delete(id)
  }

  isWaiting(id: number): boolean {
    return this.#waiting.has(id)
  }

  /** A statement was sent. */
  sent(id: number, lane: string): void {
    this.#step++
    const waiter = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (waiter) {
      this.#check(waiter)
      this.#turnOf.set(lane, this.#step)
    }
    this.#sentOf.set(lane, this.#step)
  }

  /** Within a lane, first come is first served. A lane has no second turn before all waiting lanes had one. */
  #check({ lane, since }: Waiter): void {
    const before = this.#turnOf.get(lane)
    for (const [id, other] of this.#waiting) {
      if (other.lane === lane) {
        if (other.since < since) this.wrong(`${id} came before another one of its lane`)
      } else if (before !== undefined && other.since < before) {
        if ((this.#sentOf.get(other.lane) ?? 0) < before) this.wrong(`it was the turn of ${id}`)
      }
    }
  }
}
