import { isDay } from '../parameters.ts'
import { BadLine, type Row, type Type } from './source-rows.ts'

/** A field of a row. */
export interface Field<Value = unknown> {
  /** The type of its column. */
  kind: string
  /** Reads a value, or throws the BadLine that says what it must be. */
  read: (value: unknown) => Value
  /** What null, or no value at all, stands for; undefined where a value is required. */
  byDefault?: Value
}

const wholeNumber = (least: number, most: number) => (value: unknown) => {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value
  throw new BadLine(`must be a whole number from ${least} to ${most}`)
}

/** An id has to be exact in JavaScript. */
export const ID: Field<number> = { kind: 'bigint', read: wholeNumber(1, Number.MAX_SAFE_INTEGER) }
export const NAME: Field<string> = { kind: 'text', read: readName }
export const INSTANT: Field<string> = { kind: 'timestamptz', read: readInstant }
export const FLAG: Field<boolean> = { kind: 'boolean', read: readBoolean, byDefault: false }
export const POSITION: Field = { kind: 'integer', read: wholeNumber(0, 2 ** 31 - 1), byDefault: null }
const TEXT: Field = { kind: 'text', read: readText, byDefault: '' }

/** The fields that fill the columns of each type besides its id. */
export const FIELDS: Record<Type, Record<string, Field>> = {
  organization: { name: NAME },
  product: { name: NAME },
  user: {
    name: NAME,
    first_name: TEXT,
    last_name: TEXT,
    email: TEXT,
    seid: { kind: 'text', read: readSeid, byDefault: null },
    record_status: { kind: 'text', read: readStatus, byDefault: 'active' },
  },
  assessment: {
    user_id: ID,
    organization_id: ID,
    product_id: ID,
    certified_at: INSTANT,
    legacy_record: FLAG,
  },
  part: { assessment_id: ID, position: POSITION, name: NAME, certified_at: INSTANT, proctor_id: ID },
}

/** The columns of a type besides its id, with a prefix: "t.name, t.email". */
export const listColumns = (type: Type, prefix = ''): string =>
  Object.keys(FIELDS[type])
    .map(column => prefix + column)
    .join(', ')

/** The value of a field; if it is absent or null, its default, or without one a BadLine, as for a wrong value. */
export function readField<Value>(object: Row, name: string, field: Field<Value>, prefix = ''): Value {
  const { read, byDefault } = field
  const value = object[name] ?? undefined
  if (value === undefined && byDefault !== undefined) return byDefault
  if (value === undefined) throw new BadLine(`${prefix}${name} is missing`)
  try {
    return read(value)
  } catch (error) {
    throw error instanceof BadLine ? new BadLine(`${prefix}${name} ${error.message}`) : error
  }
}

/** A text that can be stored. The limit is the schema's, see db/migrations/0001. */
function readText(value: unknown): string {
  if (typeof value !== 'string') throw new BadLine('must be a string')
  if (value.length > 500 && [...value].length > 500) throw new BadLine('is longer than 500 characters')
  if (value.includes('\0') || !value.isWellFormed())
    throw new BadLine('holds a character that cannot be stored')
  return value
}

function readName(value: unknown): string {
  const text = readText(value)
  if (text.trim() === '') throw new BadLine('is blank')
  return text
}

/** As databases and programs write that there is no value: also in brackets, as (null), <NA> and [object Object]. */
const WORD_FOR_NONE = /^(null|nil|none|n\/a|undefined|\\n|\(\D*\)|<\D*>|\[\D*\]|\{\D*\})$/i

/** #REF! of a spreadsheet in any language, ##### of a narrow column, Err:502 of LibreOffice, and what is no number. */
const ERROR_VALUE = /^(#\D*(\/0!)?|err:\d+|[-+]?(nan|inf|infinity|1[.,]#\w+))$/i

/** A text without the blanks around it, which people and filters do not see. A blank seid was never recorded (contract F16). */
function readSeid(value: unknown): string | null {
  const text = readText(value).trim()
  if (text === '') return null
  if (WORD_FOR_NONE.test(text))
    throw new BadLine('must be empty where it was never recorded, and not a word for that')
  if (ERROR_VALUE.test(text))
    throw new BadLine('is the error value of a program: correct it there, or leave it empty')
  if (/^\d+([.,]\d+)?e\+\d+$/i.test(text))
    throw new BadLine('was rounded, as spreadsheets do: export it as text')
  // Filters refuse the same characters, see app/query-string.ts.
  if (/[\p{Cc}\ufffd]/u.test(text)) throw new BadLine('holds a character that no filter can ask for')
  return text
}

function readStatus(value: unknown): string {
  if (value !== 'active' && value !== 'archived') throw new BadLine('must be active or archived')
  return value
}

function readBoolean(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new BadLine('must be true or false')
  return value
}

const INSTANT_TEXT =
  /^(\d{4}-\d\d-\d\d)(?:([Tt ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?)(?:(?<=\.\d{6})\d{1,3})?([Zz]|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?))?$/

/** A day, or an instant with its offset, cut after microseconds: Postgres would round the end of a day to the next. */
function readInstant(value: unknown): string {
  const [, day, time = '', offset = ''] = (typeof value === 'string' && INSTANT_TEXT.exec(value)) || []
  if (day?.startsWith('0000')) throw new BadLine('is outside the years 1 to 9999')
  if (!day || !isDay(day))
    throw new BadLine('must be a day as 2026-03-01, or an instant with its offset as 2026-03-01T18:20:00Z')
  return day + time + offset
}
