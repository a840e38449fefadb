import { type Chance, item, mix } from './chance.ts'

/** The instants of sample data, in seconds since 1970. */

export const DAY = 86_400
const YEARS = 6
const MONTHLY_LOAD = [2, 2, 3, 4, 6, 3, 1, 1, 2, 3, 3, 2]

/** The format of an instant: an index into the zones, or only its day. */
export const DAY_ONLY = -1
export const UTC = 0
const ZONES = ['Z', '-05:00', '-06:00', '-07:00', '-08:00', '-04:00', '+01:00', '+05:30']
const ZONE_SECONDS = [0, -5, -6, -7, -8, -4, 1, 5.5].map(hours => hours * 3600)

/** An instant in ISO 8601, in a zone or as a day. */
export function stampOf(moment: number, zone: number): string {
  if (zone === DAY_ONLY) return isoTime(moment).slice(0, 10)
  return isoTime(moment + item(ZONE_SECONDS, zone)) + item(ZONES, zone)
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
  const { busyDays, clockChanges } = schoolYears(Math.floor(end / DAY))
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

/** Days as often as they are busy, and the instants at which clocks change in the US east and in Europe. */
function schoolYears(lastDay: number) {
  const busyDays: number[] = []
  const clockChanges: number[] = []
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
  return { busyDays, clockChanges }
}
