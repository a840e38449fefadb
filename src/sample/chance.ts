/** Random numbers of sample data, the same on every machine. */

/** Streams of draws that are independent of each other. */
const STREAMS = {
  organization: 1,
  product: 2,
  proctor: 3,
  educator: 4,
  home: 5,
  taker: 6,
  assessment: 7,
}

/** Random numbers by 32-bit integer arithmetic alone. */
export class Chance {
  private state = 0

  constructor(private readonly seed: number) {}

  /** The next draws are those of that index in that stream. */
  seek(stream: keyof typeof STREAMS, index: number): this {
    this.state = mix(mix(this.seed ^ Math.imul(STREAMS[stream], 0x9e3779b9)) ^ index)
    return this
  }

  /** At least 0 and less than 1. */
  draw = (): number => {
    this.state = (this.state + 0x9e3779b9) | 0
    return (mix(this.state) >>> 0) / 0x1_0000_0000
  }

  /** A whole number of at least 0 and less than `limit`. */
  below(limit: number): number {
    return Math.floor(this.draw() * limit)
  }
}

/** Spreads a number over all 32 bits, one to one (the finalizer of MurmurHash3). */
export function mix(value: number): number {
  let bits = value
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return bits ^ (bits >>> 16)
}

/** @throws RangeError for an index that the list does not have */
export function item<T>(list: readonly T[], index: number): T {
  const found = list[index]
  if (found === undefined) throw new RangeError(`no item ${index} in a list of ${list.length}`)
  return found
}
