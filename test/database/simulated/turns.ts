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

  /** @param isFull whether a lane holds as many connections as it may */
  constructor(
    private readonly wrong: (what: string) => void,
    private readonly isFull: (lane: string) => boolean,
  ) {}

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

  /** How many wait in each lane. */
  get waiting(): Map<string, number> {
    const lanes = Map.groupBy(this.#waiting.values(), ({ lane }) => lane)
    return new Map([...lanes].map(([lane, waiters]) => [lane, waiters.length]))
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

  /** A lane is first come, first served. A lane has no second turn before every waiting lane that may have one. */
  #check({ lane, since }: Waiter): void {
    const before = this.#turnOf.get(lane)
    for (const [id, other] of this.#waiting) {
      if (other.lane === lane) {
        if (other.since < since) this.wrong(`${id} came before another one of its lane`)
      } else if (before !== undefined && other.since < before && !this.isFull(other.lane)) {
        if ((this.#sentOf.get(other.lane) ?? 0) < before) this.wrong(`it was the turn of ${id}`)
      }
    }
  }
}
