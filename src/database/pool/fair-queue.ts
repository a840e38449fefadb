/** The lane of tokens, and of what is read with a token that was not seen before. */
export const SHARED_LANE = ''

/** The lane of statements of no request. No client id has a colon. */
export const SERVICE_LANE = 'service:'

/** The lane of recordings, each of which several requests may share. */
export const RECORDING_LANE = 'disclosures:'

/** Nothing in these lanes can give up its place for a request. */
const KEPT = new Set([SERVICE_LANE, RECORDING_LANE])

/** Connections of a pool that no single integration takes. */
const KEPT_FREE = 2

/**
 * How many connections of a pool a lane may hold: an integration leaves two for others. A pool of three, two or one has no
 * two to leave: there an integration holds one at a time.
 */
export function mostOf(lane: string, poolSize: number): number {
  return lane === SHARED_LANE || KEPT.has(lane) ? poolSize : Math.max(1, poolSize - KEPT_FREE)
}

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

  /** How many wait in each lane. */
  *waiting(): IterableIterator<[name: string, count: number]> {
    for (const [name, lane] of this.#lanes) yield [name, lane.size]
  }

  /** Removes and returns the first of the lane whose turn it is, among those that may have one. Others keep their turn. */
  next(mayHave = (_name: string) => true): Waiter | undefined {
    for (const [name, lane] of this.#lanes) {
      if (!mayHave(name)) continue
      const [first] = lane as Iterable<Waiter>
      this.#lanes.delete(name)
      if (lane.size > 1) this.#lanes.set(name, lane)
      lane.delete(first as Waiter)
      this.#size--
      return first
    }
    return undefined
  }

  /** The last of the longest lane of requests, if that stays at least as long without it as lane `name` is with one more. */
  lastBut(name: string): Waiter | undefined {
    const own = this.#lanes.get(name)?.size ?? 0
    const ofRequests = [...this.#lanes].filter(([lane]) => !KEPT.has(lane)).map(([, lane]) => lane)
    const [longest = []] = ofRequests.sort((one, other) => other.size - one.size)
    const waiters = [...longest]
    return waiters.length > own + 1 ? waiters.at(-1) : undefined
  }
}
