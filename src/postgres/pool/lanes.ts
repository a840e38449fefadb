/**
 * A line in which everybody's turn comes: who waits stands in a lane, and the lanes take turns. In a lane it is first
 * come, first served.
 */
export class Lanes<Waiter> {
  /** The lane whose turn is next is the first; none is empty. */
  readonly #lanes = new Map<string, Set<Waiter>>()

  get size(): number {
    return [...this.#lanes.values()].reduce((sum, lane) => sum + lane.size, 0)
  }

  all(): Waiter[] {
    return [...this.#lanes.values()].flatMap(lane => [...lane])
  }

  add(name: string, waiter: Waiter): void {
    const lane = this.#lanes.get(name)
    if (lane) lane.add(waiter)
    else this.#lanes.set(name, new Set([waiter]))
  }

  delete(name: string, waiter: Waiter): void {
    const lane = this.#lanes.get(name)
    lane?.delete(waiter)
    if (lane?.size === 0) this.#lanes.delete(name)
  }

  /** Takes out whose turn it is. */
  next(): Waiter | undefined {
    for (const [name, lane] of this.#lanes) {
      this.#lanes.delete(name)
      if (lane.size > 1) this.#lanes.set(name, lane)
      for (const first of lane) {
        lane.delete(first)
        return first
      }
    }
    return undefined
  }

  /** Who came last in the longest lane, where that stays as long as the lane `name` would be with one more. */
  lastBut(name: string): Waiter | undefined {
    const own = this.#lanes.get(name)?.size ?? 0
    let longest: Set<Waiter> = new Set()
    for (const lane of this.#lanes.values()) if (lane.size > longest.size) longest = lane
    return longest.size > own + 1 ? [...longest].at(-1) : undefined
  }
}
