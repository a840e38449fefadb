/**
 * The ids that were read. A sorted array counts the distinct ones: 8 bytes an id, and up to twice that while it grows.
 * A Set of 10,000,000 ids takes 670 MB.
 */
export class IdSet {
  #ids = new BigUint64Array(1024)

  /** Ids added, repeated ones included. */
  size = 0

  /** @param id from 0 to 2^63 − 1 */
  add(id: number | bigint): void {
    if (this.size === this.#ids.length) {
      const larger = new BigUint64Array(2 * this.size)
      larger.set(this.#ids)
      this.#ids = larger
    }
    this.#ids[this.size++] = BigInt(id)
  }

  /** How many different ids were added. */
  distinct(): number {
    const { buffer, length } = this.#ids.subarray(0, this.size).sort()
    // In halves: each element that is read of a BigUint64Array is a new object.
    const halves = new Uint32Array(buffer, 0, 2 * length)
    let distinct = Math.min(length, 1)
    for (let at = 2; at < halves.length; at += 2)
      if (halves[at] !== halves[at - 2] || halves[at + 1] !== halves[at - 1]) distinct++
    return distinct
  }
}
