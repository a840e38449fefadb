interface Waiter {
  lane: string
  since: number
}

/** A model of the queue, derived from the statements, which checks that lanes take turns. */
export class Turns {
  /** The number of changes of the queue. */
  #step = 0
  readonly #waiting = new Map<number, Waiter>()
  /**
   * For each lane, the step at which its last statement that had waited, and its last statement at all, was
   * sent.
   */
  readonly #turnOf = new Map<string, number>()
  readonly #sentOf = new Map<string, number>()

  constructor(private readonly wrong: (what: string) => void) {}

  /** A statement enters the queue. */
  enter(id: number, lane: string): void {
    this.#waiting.set(id, { lane, since: ++this.#step })
  }

  /** A statement leaves the queue, for any reason. */
  leave(id: number): void {
    this.#waiting.delete(id)
  }

  isWaiting(id: number): boolean {
    return this.#waiting.has(id)
  }

  /** A statement is sent. */
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

  /** A lane is first come, first served. A lane has no second turn before every waiting lane has had one. */
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
