import { BadLine, type Row } from './record.ts'

/** The values of fields, and what is wrong with them. Pure. */

/** Reads a value, or throws the BadLine that says what it must be. */
type Reader<Value> = (value: unknown) => Value

/** A field that must be there. */
export function required<Value>(object: Row, name: string, read: Reader<Value>, prefix = ''): Value {
  const value = object[name]
  if (value === undefined || value === null) throw new BadLine(`${prefix}${name} is missing`)
  return named(`${prefix}${name}`, read, value)
}

/**
 * A field that keeps what is stored where the record does not say it: then it is undefined. Null makes it `cleared`,
 * or is a BadLine where the contract requires a value and there is no `cleared`.
 */
export function said<Value>(object: Row, name: string, read: Reader<Value>, cleared?: Value) {
  if (object[name] === undefined) return undefined
  return cleared === undefined ? required(object, name, read) : optional(object, name, read, cleared)
}

/** A field that may be absent or null. */
export function optional<Value>(object: Row, name: string, read: Reader<Value>, fallback: Value): Value {
  const value = object[name]
  return value === undefined || value === null ? fallback : named(name, read, value)
}

function named<Value>(name: string, read: Reader<Value>, value: unknown): Value {
  try {
    return read(value)
  } catch (error) {
    throw error instanceof BadLine ? new BadLine(`${name} ${error.message}`) : error
  }
}

/** An id, which has to be exact in JavaScript. */
export function readId(value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 1) {
    throw new BadLine('must be a whole number from 1 to 9007199254740991')
  }
  return value as number
}

/** A place in an order, as a column of the type integer holds it. */
export function readPosition(value: unknown): number {
  if (!Number.isInteger(value) || (value as number) < 0 || (value as number) > 2 ** 31 - 1)
    throw new BadLine('must be a whole number from 0 to 2147483647')
  return value as number
}

/** A text that can be stored. The limit is the schema's, see db/migrations/0001. */
export function readText(value: unknown): string {
  if (typeof value !== 'string') throw new BadLine('must be a string')
  if (value.length > 500 && [...value].length > 500) throw new BadLine('is longer than 500 characters')
  if (value.includes('\0') || !value.isWellFormed())
    throw new BadLine('holds a character that cannot be stored')
  return value
}

/** A text that says something. */
export function readName(value: unknown): string {
  const text = readText(value)
  if (text.trim() === '') throw new BadLine('is blank')
  return text
}

/** A seid; a blank one was never recorded (spec 4.2, filter rule 5), which is ''. */
export function readSeid(value: unknown): string {
  const text = readText(value)
  if (text.trim() === '') return ''
  // As a filter refuses them, see assessments/parse.ts.
  if (/[\p{Cc}\ufffd]/u.test(text)) throw new BadLine('holds a character that no filter can ask for')
  return text
}

/** Whether a user is still there. */
export function readStatus(value: unknown): string {
  if (value !== 'active' && value !== 'archived') throw new BadLine('must be active or archived')
  return value
}

/** true or false. */
export function readBoolean(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new BadLine('must be true or false')
  return value
}

const INSTANT =
  /^(\d{4}-\d\d-\d\d)(?:([Tt ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?)(?:(?<=\.\d{6})\d{1,3})?([Zz]|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?))?$/

/**
 * A calendar day, which means its start in the platform's time zone, or an instant with its offset. It
 * stays text, which Postgres reads. Postgres keeps six digits of a second, so what comes after them is cut
 * off here: rounded, the last moment of a day would become the next day.
 */
export function readInstant(value: unknown): string {
  const [, day, time = '', offset = ''] = (typeof value === 'string' && INSTANT.exec(value)) || []
  if (!day || Number.isNaN(Date.parse(day)) || new Date(day).toISOString().slice(0, 10) !== day) {
    throw new BadLine('must be a day as 2026-03-01, or an instant with its offset as 2026-03-01T18:20:00Z')
  }
  if (day.startsWith('0000')) throw new BadLine('is outside the years 1 to 9999')
  return day + time + offset
}
