/**
 * The ids that were written: eight bytes each, 80 MB for ten million, whatever they are. How many of them are
 * distinct is asked once, in the end, when they are sorted in place.
 */
export class IdSet {
  #ids = new BigUint64Array(1024)
  #size = 0

  /** Ids added, each time they were. */
  get size(): number {
    return this.#size
  }

  /** @param id from 0 to 2^63 − 1 */
  add(id: bigint): void {
    if (this.#size === this.#ids.length) {
      const larger = new BigUint64Array(this.#ids.length * 2)
      larger.set(this.#ids)
      this.#ids = larger
    }
    this.#ids[this.#size++] = id
  }

  /** How many different ids there are. */
  distinct(): number {
    const sorted = this.#ids.subarray(0, this.#size).sort()
    // As halves, because every element that is read of a BigUint64Array is a new object.
    const halves = new Uint32Array(sorted.buffer, 0, 2 * this.#size)
    let distinct = Math.min(1, this.#size)
    for (let at = 2; at < halves.length; at += 2)
      if (halves[at] !== halves[at - 2] || halves[at + 1] !== halves[at - 1]) distinct++
    return distinct
  }
}
