import { BadLine, isObject, type Row, type RowType } from './record.ts'
import {
  optional,
  readBoolean,
  readId,
  readInstant,
  readName,
  readSeid,
  readStatus,
  readText,
  required,
  said,
} from './values.ts'

/**
 * One line of the import file (design: one JSON object a line) and the row it becomes. What the line does not say
 * is undefined there, and comes from the database later, in SQL, where all that needs the other lines or the
 * database is checked. Pure.
 */

const keys = (names: string) => new Set(`type id deleted ${names}`.split(' '))

/** The keys that mean something in a line of each type, and in a part. */
export const KNOWN: Record<RowType | 'part', ReadonlySet<string>> = {
  organization: keys('name'),
  product: keys('name'),
  user: keys('name first_name last_name email seid record_status'),
  assessment: keys('user_id organization_id product_id certified_at legacy_record proctor_id parts'),
  part: new Set(['id', 'name', 'certified_at', 'proctor_id']),
}

/** Is told of each key that means nothing. */
type OnUnknown = (kind: RowType | 'part', key: string) => void

/** The row of a line, and for an assessment its parts in their order. */
export interface ReadLine {
  type: RowType
  row: Row
  parts: Row[]
}

/**
 * Reads the text of one line.
 * @throws BadLine
 */
export function readObject(text: string): Row {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new BadLine('not valid JSON')
  }
  if (!isObject(value)) throw new BadLine('not a JSON object')
  return value
}

/**
 * Reads the object of one line.
 * @throws BadLine
 */
export function readRow(object: Row, onUnknown: OnUnknown = () => {}): ReadLine {
  const { type } = object
  if (!isRowType(type)) throw new BadLine('type must be organization, product, user or assessment')
  tellUnknown(type, object, onUnknown)
  const id = required(object, 'id', readId)
  try {
    if (optional(object, 'deleted', readBoolean, false)) return deletion(type, id)
    const row: Row = { id, deleted: false, ...FIELDS[type](object) }
    if (type !== 'assessment') return { type, row, parts: [] }
    const parts = readParts(object, id, onUnknown)
    return { type, row: parts.length > 0 ? row : { ...row, ...partless(object) }, parts }
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
  organization: object => ({ name: said(object, 'name', readName) }),
  product: object => ({ name: said(object, 'name', readName) }),
  user: object => ({
    name: said(object, 'name', readName),
    first_name: said(object, 'first_name', readText, ''),
    last_name: said(object, 'last_name', readText, ''),
    email: said(object, 'email', readText, ''),
    seid: said(object, 'seid', readSeid, ''),
    record_status: said(object, 'record_status', readStatus, 'active'),
  }),
  assessment: object => ({
    user_id: said(object, 'user_id', readId),
    organization_id: said(object, 'organization_id', readId),
    product_id: said(object, 'product_id', readId),
    certified_at: said(object, 'certified_at', readInstant),
    legacy_record: said(object, 'legacy_record', readBoolean, false),
  }),
}

/** The marks of an assessment that comes without parts: whether it says at least that it has no proctor of its own. */
export const partless = ({ proctor_id }: Row): Row => ({
  partless: true,
  clears_proctor: proctor_id === null,
})

/** Separate parts; or the one part that stands for the assessment itself and has its id; or none that the line says. */
function readParts(object: Row, assessmentId: number, onUnknown: OnUnknown): Row[] {
  if (object.parts === undefined && !hasProctor(object)) return []
  if (object.parts === undefined || object.parts === null) {
    return [ownPart(assessmentId, required(object, 'proctor_id', readId))]
  }
  if (hasProctor(object)) {
    throw new BadLine('proctor_id and parts are both given: each part names its own proctor')
  }
  if (!Array.isArray(object.parts) || object.parts.length === 0) {
    throw new BadLine('parts must be a list of at least one part')
  }
  const parts = object.parts.map((part: unknown, index) => readPart(part, index + 1, onUnknown))
  const ids = new Set(parts.map(part => part.id))
  if (ids.has(assessmentId)) throw new BadLine(`part ${assessmentId} has the id of the assessment itself`)
  if (ids.size < parts.length) throw new BadLine('two parts have the same id')
  return parts
}

const hasProctor = ({ proctor_id }: Row) => proctor_id !== undefined && proctor_id !== null

/** The part that stands for an assessment without separate ones. */
export function ownPart(assessmentId: number, proctor_id: number): Row {
  return { id: assessmentId, position: 1, name: null, certified_at: null, proctor_id }
}

function readPart(part: unknown, position: number, onUnknown: OnUnknown): Row {
  const prefix = `parts[${position - 1}].`
  if (!isObject(part)) throw new BadLine(`parts[${position - 1}] must be an object`)
  tellUnknown('part', part, onUnknown)
  return {
    id: required(part, 'id', readId, prefix),
    position,
    name: required(part, 'name', readName, prefix),
    certified_at: required(part, 'certified_at', readInstant, prefix),
    proctor_id: required(part, 'proctor_id', readId, prefix),
  }
}

function tellUnknown(kind: RowType | 'part', object: Row, onUnknown: OnUnknown): void {
  for (const key in object) if (!KNOWN[kind].has(key)) onUnknown(kind, key)
}

function isRowType(value: unknown): value is RowType {
  return typeof value === 'string' && Object.hasOwn(FIELDS, value)
}
