/** Ids that are sorted at once: 8 MB of them. */
const RUN = 1 << 20

/** Bytes that the difference of two ids takes at most: seven bits in each. */
const LONGEST = 10

/**
 * The ids that were written, and how many of them are distinct: asked in the end, and cheap until then. A
 * million ids at a time are sorted and kept as the differences from one to the next, which is a byte or two for
 * each where ids are dense, and seven where they are random. Ten million of an ordinary export take 20 MB;
 * a hash set would take 500.
 */
export class IdSet {
  #size = 0
  #filled = 0
  readonly #ids = new BigUint64Array(RUN)
  readonly #runs: Uint8Array[] = []

  /** Ids added, each time they were. */
  get size(): number {
    return this.#size
  }

  /** @param id from 0 to 2^63 − 1 */
  add(id: bigint): void {
    if (this.#filled === RUN) this.#seal()
    this.#ids[this.#filled++] = id
    this.#size++
  }

  /** How many different ids there are. */
  distinct(): number {
    this.#seal()
    const cursors = this.#runs.map(run => new Cursor(run))
    let distinct = 0
    for (;;) {
      let least: Cursor | undefined
      for (const cursor of cursors) if (!cursor.isOver && (!least || cursor.isBefore(least))) least = cursor
      if (!least) return distinct
      distinct++
      const { high, low } = least
      for (const cursor of cursors) cursor.skip(high, low)
    }
  }

  #seal(): void {
    if (this.#filled === 0) return
    this.#runs.push(encode(this.#ids.subarray(0, this.#filled).sort()))
    this.#filled = 0
  }
}

/**
 * Each as its difference from the one before, seven bits a byte, the lowest first, with the eighth bit set where
 * more follow. By halves of 32 bits, because every element that is read of a BigUint64Array is a new object.
 */
function encode(sorted: BigUint64Array): Uint8Array {
  const halves = new Uint32Array(sorted.buffer, sorted.byteOffset, 2 * sorted.length)
  const bytes = new Uint8Array(LONGEST * sorted.length)
  let length = 0
  let [beforeLow, beforeHigh] = [0, 0]
  for (let at = 0; at < halves.length; at += 2) {
    const [idLow, idHigh] = [halves[at] as number, halves[at + 1] as number]
    let low = idLow - beforeLow
    let high = idHigh - beforeHigh - (low < 0 ? 1 : 0)
    low >>>= 0
    while (high > 0 || low > 127) {
      bytes[length++] = (low & 127) | 128
      low = ((low >>> 7) | (high << 25)) >>> 0
      high >>>= 7
    }
    bytes[length++] = low
    beforeLow = idLow
    beforeHigh = idHigh
  }
  return bytes.slice(0, length)
}

/** Reads what encode() wrote, from the least to the largest. */
class Cursor {
  low = 0
  high = 0
  isOver = false
  private at = 0

  constructor(private readonly bytes: Uint8Array) {
    this.next()
  }

  isBefore({ high, low }: Cursor): boolean {
    return this.high < high || (this.high === high && this.low < low)
  }

  /** Goes on behind an id, if that is the present one. */
  skip(high: number, low: number): void {
    while (!this.isOver && this.high === high && this.low === low) this.next()
  }

  private next(): void {
    if (this.at === this.bytes.length) {
      this.isOver = true
      return
    }
    let [low, high] = [0, 0]
    for (let shift = 0; ; shift += 7) {
      const byte = this.bytes[this.at++] as number
      const bits = byte & 127
      if (shift < 32) low |= bits << shift
      if (shift > 28) high |= bits << (shift - 32)
      else if (shift === 28) high |= bits >> 4
      if (byte < 128) break
    }
    const sum = this.low + (low >>> 0)
    this.low = sum >>> 0
    this.high += high + (sum > 0xffff_ffff ? 1 : 0)
  }
}
