import { BadLine, isObject, type Row, type RowType } from './record.ts'
import {
  optional,
  readBoolean,
  readId,
  readInstant,
  readName,
  readStatus,
  readText,
  required,
} from './values.ts'

/**
 * One line of the import file (design: one JSON object a line) and the row it becomes. Pure: what needs
 * the other lines or the database is checked later, in SQL.
 */

/** The row of a line, and for an assessment its parts in their order. */
export interface ReadLine {
  type: RowType
  row: Row
  parts: Row[]
}

/**
 * Reads one line.
 * @throws BadLine
 */
export function readLine(text: string): ReadLine {
  const object = readObject(text)
  const { type } = object
  if (!isRowType(type)) throw new BadLine('type must be organization, product, user or assessment')
  const id = required(object, 'id', readId)
  try {
    if (optional(object, 'deleted', readBoolean, false)) return deletion(type, id)
    return {
      type,
      row: { id, deleted: false, ...FIELDS[type](object) },
      parts: type === 'assessment' ? readParts(object, id) : [],
    }
  } catch (error) {
    if (error instanceof BadLine) error.subject = { type, id }
    throw error
  }
}

/** A row that removes. */
export function deletion(type: RowType, id: number): ReadLine {
  return { type, row: { id, deleted: true }, parts: [] }
}

/** The fields of each type besides its id. */
export const FIELDS: Record<RowType, (object: Row) => Row> = {
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
    return [ownPart(assessmentId, required(object, 'proctor_id', readId))]
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

/** The part that stands for an assessment without separate ones. */
export function ownPart(assessmentId: number, proctor_id: number): Row {
  return { id: assessmentId, position: 1, name: null, certified_at: null, proctor_id }
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

function isRowType(value: unknown): value is RowType {
  return typeof value === 'string' && Object.hasOwn(FIELDS, value)
}
