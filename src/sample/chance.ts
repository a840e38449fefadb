/** Draws a random number of at least 0 and less than 1. */
export type Draw = () => number

/** Streams of draws that are independent of each other. */
const STREAMS = { proctor: 3, educator: 4, home: 5, taker: 6, assessment: 7 }

const GOLDEN_RATIO = 0x9e3779b9

/** The draws for an index of a stream: 32-bit integer arithmetic alone, so the same on every machine. */
export function draws(stream: keyof typeof STREAMS, index: number): Draw {
  let state = mix(mix(1 ^ Math.imul(STREAMS[stream], GOLDEN_RATIO)) ^ index)
  return () => {
    state = (state + GOLDEN_RATIO) | 0
    return (mix(state) >>> 0) / 0x1_0000_0000
  }
}

/** Draws a whole number of at least 0 and less than `limit`. */
export const below = (limit: number, draw: Draw): number => Math.floor(draw() * limit)

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

/** A day in seconds. Instants are in seconds since 1970. */
export const DAY = 86_400
const YEARS = 6
/** Fixed, so that the output is the same forever. */
const LATEST = Date.parse('2026-06-30T23:59:59Z') / 1000

/** Offsets of instants; UTC is the first. An instant in DAY_ONLY has only its day. */
export const ZONES = ['Z', '-05:00', '-06:00', '-07:00', '-08:00', '-04:00', '+01:00', '+05:30']
export const DAY_ONLY = ''

/** An instant in ISO 8601, in a zone or as a day. */
export function stampOf(moment: number, zone: string): string {
  const offset = zone === DAY_ONLY ? 0 : Date.parse(`1970-01-01T00:00${zone}`)
  const time = new Date(moment * 1000 - offset).toISOString()
  return zone === DAY_ONLY ? time.slice(0, 10) : time.slice(0, 19) + zone
}

/** Draws an instant about `age` (0 to 1) of the way through the years; one in twenty was entered weeks too late. */
export function momentAt(age: number, draw: Draw): number {
  const shift = draw() < 0.05 ? -0.06 * draw() : 0.004 * (draw() - 0.5)
  const at = Math.min(Math.max(age + shift, 0), 1)
  let day = Math.floor(LATEST / DAY - YEARS * 365 * (1 - at))
  // On every second Thursday many complete at once.
  if (draw() < 0.4) day -= day % 14
  // Half an hour on both sides of midnight: where the day depends on the time zone.
  const minute = draw() < 0.07 ? below(60, draw) - 30 : 13 * 60 + 5 * below(132, draw)
  const second = draw() < 0.5 ? 0 : below(60, draw)
  return Math.min(day * DAY + minute * 60 + second, LATEST)
}
