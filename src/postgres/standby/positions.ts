/** Where a server was in its log of writes: the newest position, and when that was asked for (performance.now()). */
interface Seen {
  position: bigint
  at: number
}

/** Positions that are kept: an hour of a primary that writes all the time, looked at each second. */
const KEPT = 3600

/** How far a standby is behind. */
export interface Lag {
  /** Milliseconds. */
  lag: number
  /** It is more than that: it has not even replayed the oldest position that is known. */
  isLeast: boolean
}

/**
 * Where the primary was when, so that the age of what a standby has replayed is known without its clock: a standby that
 * has replayed the position of a moment has all that was committed by then.
 */
export class Positions {
  /** Ascending in both. */
  #seen: Seen[] = []

  /** A primary that writes nothing stays where it was, and a standby that is there, too, is up to date. */
  note(position: bigint, at: number): void {
    // A backup was restored, or another server has taken over.
    if (position < (this.#seen.at(-1)?.position ?? 0n)) this.forget()
    const last = this.#seen.at(-1)
    if (last?.position === position) last.at = at
    else this.#seen.push({ position, at })
    if (this.#seen.length > KEPT) this.#seen.shift()
  }

  /** What was seen is of a history that is gone. */
  forget(): void {
    this.#seen = []
  }

  /**
   * How far behind the newest known position a standby is that has replayed so much. While the primary cannot be asked,
   * that one stays the newest: it does not age.
   */
  lagOf(replayed: bigint): Lag {
    const [first] = this.#seen
    const last = this.#seen.at(-1)
    if (!first || !last) return { lag: 0, isLeast: true }
    const newest = this.#seen.findLast(({ position }) => position <= replayed)
    return { lag: last.at - (newest ?? first).at, isLeast: newest === undefined }
  }
}
