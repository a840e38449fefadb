/** One position per second: an hour of a primary that always writes. */
const MAX_POSITIONS = 3600

/** How far a standby is behind. */
export interface Lag {
  lagMs: number
  /** The lag is more than that: the standby has not replayed the oldest known position. */
  isMinimum: boolean
}

/**
 * The positions of the primary and when it was asked for them (performance.now()). A standby that has replayed a position
 * has everything that was committed by then, so that its lag is known without its clock.
 */
export class Positions {
  /** Both values ascend. */
  #known: { position: bigint; at: number }[] = []

  add(position: bigint, at: number): void {
    // The primary was restored from a backup, or replaced.
    if (position < (this.#known.at(-1)?.position ?? 0n)) this.clear()
    const last = this.#known.at(-1)
    // An idle primary stays where it is: a standby that is there is up to date.
    if (last?.position === position) last.at = at
    else this.#known.push({ position, at })
    if (this.#known.length > MAX_POSITIONS) this.#known.shift()
  }

  clear(): void {
    this.#known = []
  }

  /** The lag behind the newest known position, which does not age while the primary does not answer. */
  lagOf(replayed: bigint): Lag {
    const [first] = this.#known
    const last = this.#known.at(-1)
    if (!first || !last) return { lagMs: 0, isMinimum: true }
    const newest = this.#known.findLast(({ position }) => position <= replayed)
    return { lagMs: last.at - (newest ?? first).at, isMinimum: newest === undefined }
  }
}
