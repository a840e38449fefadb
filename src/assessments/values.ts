import type { TSchema } from '@sinclair/typebox'

/** A value that cannot be read as its schema says; `expected` completes "… must be". */
export class Unreadable extends Error {
  constructor(readonly expected: string) {
    super(`must be ${expected}`)
  }
}

/**
 * Reads one non-blank value of a query string by its schema. White space around it carries no meaning,
 * except in free text without a format (a seid), which is compared as it was sent.
 * @throws Unreadable
 */
export function readValue(schema: TSchema, text: string): unknown {
  const trimmed = text.trim()
  if (schema.type === 'integer') {
    return schema.format === 'int64' ? readId(trimmed) : readInteger(trimmed, schema.minimum as number)
  }
  if (schema.type === 'boolean') return readBoolean(trimmed)
  if (schema.format === 'date') return readDay(trimmed)
  if (schema.anyOf) return readOneOf(trimmed, schema.anyOf)
  return text
}

const WHOLE_NUMBER = /^[+-]?\d+$/

/** The canonical decimal form, so that "007" and "7" are the same id. May lie beyond bigint. */
function readId(text: string): string {
  if (!WHOLE_NUMBER.test(text)) throw new Unreadable('a whole number')
  return BigInt(text.replace('+', '')).toString()
}

/** Capped at 2^53 - 1, which is beyond any count and still exact in everybody's JSON. */
function readInteger(text: string, minimum: number): number {
  const value = WHOLE_NUMBER.test(text) ? Number(text) : Number.NaN
  if (!(value >= minimum)) throw new Unreadable(`a whole number, at least ${minimum}`)
  return Math.min(value, Number.MAX_SAFE_INTEGER)
}

function readBoolean(text: string): boolean {
  const lower = text.toLowerCase()
  if (lower === 'true' || lower === '1') return true
  if (lower === 'false' || lower === '0') return false
  throw new Unreadable('true or false')
}

/** A real calendar day as YYYY-MM-DD. There is no year 0, neither in ISO practice nor in Postgres. */
function readDay(text: string): string {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? []
  const date = new Date(`${text}T00:00:00Z`)
  const isReal =
    Number(year) > 0 && date.getUTCMonth() + 1 === Number(month) && date.getUTCDate() === Number(day)
  if (!isReal) throw new Unreadable('a calendar day as YYYY-MM-DD')
  return text
}

function readOneOf(text: string, literals: { const: string }[]): string {
  const known = literals.map(literal => literal.const)
  if (!known.includes(text)) throw new Unreadable(known.join(' or '))
  return text
}
