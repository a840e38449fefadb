import { Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { UsageFailure } from '../errors.ts'
import type { Ids } from '../integrations/scope.ts'
import type { Limit } from '../limit.ts'

/** A command whose --help ends with `help`: what else to know, and an example. */
export const newCommand = (name: string, description: string, help: string) =>
  new Command(name).description(description).addHelpText('after', `\n${help}`)

/** The entries that are not undefined: those of the options that were given. */
export const given = <Options extends object>(options: Options) =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Options]?: Exclude<Options[Name], undefined>
  }

/** An id of the platform, as decimal digits without leading zeros; it fits into a bigint of the database. */
export function readId(text: string, wish = 'a whole number, as 501'): string {
  const id = text.trim()
  if (!/^\d{1,19}$/.test(id) || BigInt(id) >= 2n ** 63n)
    throw new InvalidArgumentError(`"${id}" is not an id: give ${wish}.`)
  return String(BigInt(id))
}

/** "1,2,3" as distinct decimal strings in numeric order, or "all". An unset variable of a script gives no id: a mistake. */
export function readIds(text: string): Ids {
  if (text.trim() === 'all') return 'all'
  const ids = text.split(',').filter(id => id.trim() !== '')
  if (ids.length === 0)
    throw new InvalidArgumentError('It names no id: give whole numbers, as 1,2,3, or all.')
  const digits = ids.map(id => readId(id, 'whole numbers, as 1,2,3, or all'))
  return [...new Set(digits)].sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1))
}

const UNITS = { s: 1, m: 60, h: 3600, d: 86_400 }

/** A duration such as 90s, 30m, 24h or 7d, in seconds; at most 90 days. */
export function readDuration(text: string): number {
  const [, amount, unit] = /^(\d{1,7})([smhd])$/.exec(text.trim()) ?? []
  const seconds = Number(amount) * UNITS[unit as keyof typeof UNITS]
  if (!(seconds > 0 && seconds <= 90 * UNITS.d))
    throw new InvalidArgumentError('Give a duration as 30s, 5m, 24h or 7d, at most 90d.')
  return seconds
}

/** A reader of a text for people. @throws UsageFailure for none, a long one, or one of several lines */
export const readText = (name: string) => (text: string) => {
  const line = text.trim()
  if (/^[^\p{Cc}\p{Zl}\p{Zp}]{1,500}$/u.test(line)) return line
  throw new UsageFailure(`the ${name} must be a line of 1 to 500 characters, without control characters`)
}

/** A limit of what is left out or removed: "5%" or "500". */
export function readLimit(text: string): Limit {
  const [, number, isPercent] = /^(\d{1,15})(%?)$/.exec(text.trim()) ?? []
  if (number === undefined || (isPercent && Number(number) > 100))
    throw new InvalidArgumentError('Give a share as 25%, or a number as 500.')
  return isPercent ? { percent: Number(number) } : { count: Number(number) }
}

/** A reader of whole numbers from `least` to `most`. */
export const wholeNumber = (least: number, most: number) => (text: string) => {
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (number >= least && number <= most) return number
  throw new InvalidArgumentError(`Give a whole number from ${least} to ${most}.`)
}

/** A reader of one of these words, in any case. */
export function oneOf<Value extends string>(...values: readonly Value[]): (text: string) => Value {
  return text => {
    const value = values.find(value => value.toLowerCase() === text.trim().toLowerCase())
    if (value === undefined) throw new InvalidArgumentError(`Give one of ${values.join(', ')}.`)
    return value
  }
}
