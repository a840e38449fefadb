/** The lane of statements that no integration is known for. */
export const SHARED_LANE = ''

/** A queue of lanes that take turns. Within a lane, first come is first served. */
export class FairQueue<Waiter> {
  /** In the order of the turns; no lane is empty. */
  readonly #lanes = new Map<string, Set<Waiter>>()
  /** A number, because every request asks for it. */
  #size = 0

  get size(): number {
    return this.#size
  }

  all(): Waiter[] {
    return [...this.#lanes.values()].flatMap(lane => [...lane])
  }

  add(name: string, waiter: Waiter): void {
    this.#lanes.set(name, (this.#lanes.get(name) ?? new Set()).add(waiter))
    this.#size++
  }

  delete(name: string, waiter: Waiter): void {
    const lane = this.#lanes.get(name)
    if (!lane?.delete(waiter)) return
    this.#size--
    if (lane.size === 0) this.#lanes.delete(name)
  }

  /** Removes and returns the first of the lane whose turn it is. */
  next(): Waiter | undefined {
    for (const [name, lane] of this.#lanes) {
      const [first] = lane as Iterable<Waiter>
      this.#lanes.delete(name)
      if (lane.size > 1) this.#lanes.set(name, lane)
      lane.delete(first as Waiter)
      this.#size--
      return first
    }
    return undefined
  }

  /** The last of the longest lane, if that stays at least as long without it as lane `name` is with one more. */
  lastBut(name: string): Waiter | undefined {
    const own = this.#lanes.get(name)?.size ?? 0
    const [longest = []] = [...this.#lanes.values()].sort((one, other) => other.size - one.size)
    const waiters = [...longest]
    return waiters.length > own + 1 ? waiters.at(-1) : undefined
  }
}
