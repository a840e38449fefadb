import { BadLine, type ReadRecord, type Row, type RowType } from './record.ts'
import { deletion, FIELDS, KNOWN, ownPart, partless } from './rows.ts'
import { optional, readBoolean, readId, readInstant, readName, readPosition, required } from './values.ts'

/** One row of a CSV file and the row it becomes. Pure, as rows.ts is for NDJSON. */

/** What a CSV file holds; parts have a file of their own. */
export type CsvType = RowType | 'part'

/**
 * The columns that a file of each type must have. Without one of the others, its values stay as they are stored. A
 * part is said whole, as in the list of NDJSON.
 */
export const REQUIRED_COLUMNS: Record<CsvType, string[]> = {
  organization: ['id'],
  product: ['id'],
  user: ['id'],
  assessment: ['id'],
  part: ['assessment_id', 'id', 'name', 'certified_at', 'proctor_id'],
}

/** All columns that mean something in a file of each type. */
export const COLUMNS = Object.fromEntries(
  (Object.keys(REQUIRED_COLUMNS) as CsvType[]).map(type => [
    type,
    type === 'part'
      ? [...REQUIRED_COLUMNS.part, 'position', 'deleted']
      : [...KNOWN[type]].filter(name => name !== 'type' && name !== 'parts'),
  ]),
) as Record<CsvType, string[]>

/** Whether a column of a file of that type means something. */
export function isKnownColumn(type: CsvType, column: string): boolean {
  return COLUMNS[type].includes(column)
}

/**
 * Reads the cells of a row under their columns.
 * @throws BadLine
 */
export function readCells(type: CsvType, columns: string[], cells: string[]): ReadRecord {
  if (cells.length !== columns.length)
    throw new BadLine(`has ${cells.length} fields where the header has ${columns.length}`)
  const object = Object.fromEntries(columns.map((name, index) => [name, jsonValue(name, cells[index] ?? '')]))
  try {
    return type === 'part' ? readPartRow(object) : readRow(type, object)
  } catch (error) {
    if (error instanceof BadLine) name(error, type, object)
    throw error
  }
}

/** The value that NDJSON would have in its place; what is none stays text, for the reader to complain about. */
function jsonValue(column: string, cell: string): unknown {
  if (cell === '') return null
  const text = cell.trim()
  if ((column === 'id' || column === 'position' || column.endsWith('_id')) && /^\d+$/.test(text))
    return Number(text)
  if (column === 'deleted' || column === 'legacy_record') return BOOLEANS[text.toLowerCase()] ?? cell
  return column === 'certified_at' ? text : cell
}

/** As people write them, and as psql's \copy does. */
const BOOLEANS: Record<string, boolean> = { true: true, false: false, t: true, f: false, 1: true, 0: false }

function readRow(type: RowType, object: Row): ReadRecord {
  const id = required(object, 'id', readId)
  if (optional(object, 'deleted', readBoolean, false)) return deletion(type, id)
  const row: Row = { id, deleted: false, ...FIELDS[type](object) }
  if (type !== 'assessment') return { type, row, parts: [] }
  const proctor = optional(object, 'proctor_id', readId, 0)
  if (proctor !== 0) return { type, row, parts: [ownPart(id, proctor)] }
  return { type, row: { ...row, ...partless(object) }, parts: [] }
}

/** A part with the id of its assessment describes the assessment itself, which has a name and a date. */
function readPartRow(object: Row): ReadRecord {
  const assessment_id = required(object, 'assessment_id', readId)
  const id = required(object, 'id', readId)
  const common = { id, assessment_id, apart: true }
  if (optional(object, 'deleted', readBoolean, false))
    return { type: 'part', row: { ...common, deleted: true }, parts: [] }
  const position = optional(object, 'position', readPosition, null)
  const proctor_id = required(object, 'proctor_id', readId)
  if (id === assessment_id) {
    if (object.name !== null || object.certified_at !== null)
      throw new BadLine(`part ${id} has the id of the assessment itself`)
    return { type: 'part', row: { ...ownPart(id, proctor_id), ...common, position }, parts: [] }
  }
  const name = required(object, 'name', readName)
  const certified_at = required(object, 'certified_at', readInstant)
  return { type: 'part', row: { ...common, position, name, certified_at, proctor_id }, parts: [] }
}

/** Whose row it is, where that can be read: without it that assessment cannot be loaded as a whole. */
function name(error: BadLine, type: CsvType, { id, assessment_id }: Row): void {
  if (type === 'part') error.assessmentId = idOrNothing(assessment_id)
  else {
    const own = idOrNothing(id)
    if (own !== undefined) error.subject = { type, id: own }
    if (type === 'assessment') error.assessmentId = own
  }
}

const idOrNothing = (value: unknown) =>
  Number.isSafeInteger(value) && (value as number) >= 1 ? (value as number) : undefined
