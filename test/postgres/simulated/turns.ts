interface Waiter {
  lane: string
  since: number
}

/** Who waits in which lane, as seen from outside; and whether turns are kept. */
export class Turns {
  /** Counts what happens to the line. */
  #step = 0
  readonly #waiting = new Map<number, Waiter>()
  /** The step of the last statement of a lane that had waited, and of the last one that was sent at all. */
  readonly #turnOf = new Map<string, number>()
  readonly #sentOf = new Map<string, number>()

  constructor(private readonly wrong: (what: string) => void) {}

  /** A statement stands in the line. */
  enter(id: number, lane: string): void {
    this.#waiting.set(id, { lane, since: ++this.#step })
  }

  /** A statement waits no more, whatever became of it. */
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

  /** In a lane it is first come, first served; and a lane has no second turn before all that waited had one. */
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
