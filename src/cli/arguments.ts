import { InvalidArgumentError } from 'commander'
import type { Ids } from '../integrations/scope.ts'

/** The largest id that a bigint of the database holds. */
const MAX_ID = 2n ** 63n - 1n

/** An id of the platform, as decimal digits without leading zeros. */
export function readId(text: string): string {
  const id = text.trim()
  if (!/^\d{1,19}$/.test(id) || BigInt(id) > MAX_ID)
    throw new InvalidArgumentError('Give the id as a whole number, as 501.')
  return String(BigInt(id))
}

/** "1,2,3" as distinct decimal strings in numeric order; "all" stands for everything there is. */
export function readIds(text: string): Ids {
  if (text.trim() === 'all') return 'all'
  const ids = text
    .split(',')
    .map(id => id.trim())
    .filter(id => id !== '')
  const wrong = ids.find(id => !/^\d{1,19}$/.test(id) || BigInt(id) > MAX_ID)
  if (wrong !== undefined) {
    throw new InvalidArgumentError(`"${wrong}" is not an id: give whole numbers, as 1,2,3, or all.`)
  }
  return [...new Set(ids.map(BigInt))].sort((a, b) => (a < b ? -1 : 1)).map(String)
}

const UNITS = { s: 1, m: 60, h: 3600, d: 86_400 }

/** A duration as 90s, 30m, 24h or 7d, in seconds; at most 90 days. */
export function readDuration(text: string): number {
  const [, amount, unit] = /^(\d{1,7})([smhd])$/.exec(text.trim()) ?? []
  const seconds = Number(amount) * UNITS[unit as keyof typeof UNITS]
  if (!(seconds > 0 && seconds <= 90 * UNITS.d)) {
    throw new InvalidArgumentError('Give a duration as 30m, 24h or 7d, at most 90d.')
  }
  return seconds
}

/** For how long something is kept: "400d" as "400 days", or "forever". Commander would make "" of null. */
export function readKept(text: string): string {
  if (text.trim().toLowerCase() === 'forever') return 'forever'
  const [, days] = /^(\d{1,5})d$/.exec(text.trim()) ?? []
  if (!(Number(days) > 0)) throw new InvalidArgumentError('Give a number of days, as 400d, or forever.')
  return `${Number(days)} days`
}

/** A reader of one of these words, in any case. */
export function oneOf<Value extends string>(...values: readonly Value[]): (text: string) => Value {
  return text => {
    const value = values.find(value => value.toLowerCase() === text.trim().toLowerCase())
    if (value === undefined) throw new InvalidArgumentError(`Give one of ${values.join(', ')}.`)
    return value
  }
}
