/**
 * One line of the import file (design: one JSON object a line) and the row it becomes. Pure: what needs
 * the other lines or the database is checked later, in SQL.
 */

/** Why a line can not be loaded; one clause without the line's number. */
export class BadLine extends Error {}

/** Field names and values as the staging tables have them. */
export type Row = Record<string, unknown>

/** The row of a line, and for an assessment its parts in their order. */
export interface ReadLine {
  type: RowType
  row: Row
  parts: Row[]
}

export type RowType = 'organization' | 'product' | 'user' | 'assessment'

/**
 * Reads one line.
 * @throws BadLine
 */
export function readLine(text: string): ReadLine {
  const object = readObject(text)
  const { type } = object
  if (!isRowType(type)) throw new BadLine('type must be organization, product, user or assessment')
  const id = required(object, 'id', readId)
  if (optional(object, 'deleted', readBoolean, false)) return { type, row: { id, deleted: true }, parts: [] }
  return {
    type,
    row: { id, deleted: false, ...FIELDS[type](object) },
    parts: type === 'assessment' ? readParts(object, id) : [],
  }
}

/** The fields of each type besides its id. */
const FIELDS: Record<RowType, (object: Row) => Row> = {
  organization: object => ({ name: required(object, 'name', readName) }),
  product: object => ({ name: required(object, 'name', readName) }),
  user: object => ({
    name: required(object, 'name', readName),
    first_name: optional(object, 'first_name', readText, ''),
    last_name: optional(object, 'last_name', readText, ''),
    email: optional(object, 'email', readText, ''),
    seid: optional(object, 'seid', readText, '').trim() === '' ? null : object.seid,
    record_status: optional(object, 'record_status', readStatus, 'active'),
  }),
  assessment: object => ({
    user_id: required(object, 'user_id', readId),
    organization_id: required(object, 'organization_id', readId),
    product_id: required(object, 'product_id', readId),
    certified_at: required(object, 'certified_at', readInstant),
    legacy_record: optional(object, 'legacy_record', readBoolean, false),
  }),
}

/** Separate parts, or the one part that stands for the assessment itself and has its id. */
function readParts(object: Row, assessmentId: number): Row[] {
  if (object.parts === undefined || object.parts === null) {
    const proctor_id = required(object, 'proctor_id', readId)
    return [{ id: assessmentId, position: 1, name: null, certified_at: null, proctor_id }]
  }
  if (object.proctor_id !== undefined && object.proctor_id !== null) {
    throw new BadLine('proctor_id and parts are both given: each part names its own proctor')
  }
  if (!Array.isArray(object.parts) || object.parts.length === 0) {
    throw new BadLine('parts must be a list of at least one part')
  }
  const parts = object.parts.map((part: unknown, index) => readPart(part, index + 1))
  const ids = new Set(parts.map(part => part.id))
  if (ids.has(assessmentId)) throw new BadLine(`part ${assessmentId} has the id of the assessment itself`)
  if (ids.size < parts.length) throw new BadLine('two parts have the same id')
  return parts
}

function readPart(part: unknown, position: number): Row {
  const prefix = `parts[${position - 1}].`
  if (!isObject(part)) throw new BadLine(`parts[${position - 1}] must be an object`)
  return {
    id: required(part, 'id', readId, prefix),
    position,
    name: required(part, 'name', readName, prefix),
    certified_at: required(part, 'certified_at', readInstant, prefix),
    proctor_id: required(part, 'proctor_id', readId, prefix),
  }
}

function readObject(text: string): Row {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new BadLine('not valid JSON')
  }
  if (!isObject(value)) throw new BadLine('not a JSON object')
  return value
}

function isObject(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isRowType(value: unknown): value is RowType {
  return typeof value === 'string' && Object.hasOwn(FIELDS, value)
}

type Reader<Value> = (value: unknown) => Value

function required<Value>(object: Row, name: string, read: Reader<Value>, prefix = ''): Value {
  const value = object[name]
  if (value === undefined || value === null) throw new BadLine(`${prefix}${name} is missing`)
  return named(`${prefix}${name}`, read, value)
}

function optional<Value>(object: Row, name: string, read: Reader<Value>, fallback: Value): Value {
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

function readId(value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 1) {
    throw new BadLine('must be a whole number from 1 to 9007199254740991')
  }
  return value as number
}

/** The limit is the schema's, see db/migrations/0001. */
function readText(value: unknown): string {
  if (typeof value !== 'string') throw new BadLine('must be a string')
  if (value.length > 500 && [...value].length > 500) throw new BadLine('is longer than 500 characters')
  if (value.includes('\0') || !value.isWellFormed())
    throw new BadLine('holds a character that can not be stored')
  return value
}

function readName(value: unknown): string {
  const text = readText(value)
  if (text.trim() === '') throw new BadLine('is blank')
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

const INSTANT =
  /^(\d{4}-\d\d-\d\d)(?:[Tt ]([01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:[Zz]|[+-](?:0\d|1[0-4]):?[0-5]\d))?$/

/**
 * A calendar day, which means its start in the platform's time zone, or an instant with its offset. It
 * stays text: Postgres reads it, with all its digits.
 */
function readInstant(value: unknown): string {
  const [text, day] = (typeof value === 'string' && INSTANT.exec(value)) || []
  if (!text || !day || Number.isNaN(Date.parse(day)) || new Date(day).toISOString().slice(0, 10) !== day) {
    throw new BadLine('must be a day as 2026-03-01, or an instant with its offset as 2026-03-01T18:20:00Z')
  }
  if (day < '0001-01-05' || day > '9999-12-27') throw new BadLine('is outside the years 1 to 9999')
  // Postgres keeps six digits and rounds the rest, which could make it the next day.
  return text.replace(/(\.\d{6})\d+/, '$1')
}
