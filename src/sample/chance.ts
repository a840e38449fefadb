/** Random numbers of sample data, the same on every machine, and the instants that are drawn with them. */

/** Streams of draws that are independent of each other. */
const STREAMS = ['organization', 'product', 'proctor', 'educator', 'home', 'taker', 'assessment'] as const

/** Random numbers by 32-bit integer arithmetic alone. */
export class Chance {
  private state = 0

  constructor(private readonly seed: number) {}

  /** The next draws are those of that index in that stream. */
  seek(stream: (typeof STREAMS)[number], index: number): this {
    const salt = Math.imul(STREAMS.indexOf(stream) + 1, 0x9e3779b9)
    this.state = mix(mix(this.seed ^ salt) ^ index)
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

/** A day in seconds. Instants are in seconds since 1970. */
export const DAY = 86_400
const YEARS = 6
const MONTHLY_LOAD = [2, 2, 3, 4, 6, 3, 1, 1, 2, 3, 3, 2]

/** The format of an instant: an index into the zones, or only its day. */
export const DAY_ONLY = -1
export const UTC = 0
const ZONES = ['Z', '-05:00', '-06:00', '-07:00', '-08:00', '-04:00', '+01:00', '+05:30']
const ZONE_HOURS = [0, -5, -6, -7, -8, -4, 1, 5.5]

/** An instant in ISO 8601, in a zone or as a day. */
export function stampOf(moment: number, zone: number): string {
  if (zone === DAY_ONLY) return isoTime(moment).slice(0, 10)
  return isoTime(moment + item(ZONE_HOURS, zone) * 3600) + item(ZONES, zone)
}

const isoTime = (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 19)

/**
 * Returns the function that draws an instant about `age` (0 to 1) of the way through the six years before `until`; one in
 * twenty was entered weeks too late.
 * @throws RangeError
 */
export function momentsUntil(until: Date): (age: number, chance: Chance) => number {
  const end = Math.floor(until.getTime() / 1000)
  if (!(end > 10 * 365 * DAY && end < 250_000_000_000))
    throw new RangeError('until must lie in the years 1980 to 9800')
  /** Days as often as they are busy, and the instants at which clocks change in the US east and in Europe. */
  const busyDays: number[] = []
  const clockChanges: number[] = []
  const lastDay = Math.floor(end / DAY)
  for (let day = lastDay - YEARS * 365; day <= lastDay; day++) {
    const date = new Date(day * DAY * 1000)
    const [month, dayOfMonth, sunday] = [date.getUTCMonth(), date.getUTCDate(), date.getUTCDay() === 0]
    const weekend = sunday || date.getUTCDay() === 6
    // On a few testing days many complete at once.
    const load = item(MONTHLY_LOAD, month) * (weekend ? 1 : 6) * ((mix(day) & 15) === 0 ? 8 : 1)
    for (let times = 0; times < load; times++) busyDays.push(day)
    if (sunday && month === 2 && dayOfMonth > 7 && dayOfMonth < 15) clockChanges.push(day * DAY + 7 * 3600)
    if (sunday && month === 10 && dayOfMonth < 8) clockChanges.push(day * DAY + 6 * 3600)
    if (sunday && (month === 2 || month === 9) && dayOfMonth > 24) clockChanges.push(day * DAY + 3600)
  }
  const someMoment = (age: number, chance: Chance) => {
    const shift = chance.draw() < 0.05 ? -0.06 * chance.draw() : 0.004 * (chance.draw() - 0.5)
    const at = Math.min(Math.max(age + shift, 0), 0.999_999)
    const day = item(busyDays, Math.floor(at * busyDays.length)) * DAY
    const second = chance.draw() < 0.5 ? 0 : chance.below(60)
    const kind = chance.draw()
    if (kind < 0.01)
      return item(clockChanges, Math.floor(at * clockChanges.length)) + 60 * (chance.below(180) - 90)
    // Half an hour on both sides of midnight: where the day depends on the time zone.
    if (kind < 0.08) return day + 60 * (chance.below(60) - 30) + second
    return day + 13 * 3600 + 300 * chance.below(132) + second
  }
  return (age, chance) => Math.min(end, someMoment(age, chance))
}
