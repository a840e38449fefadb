import { hasRepeatedKey } from '../repeated-keys.ts'
import { FIELDS, type Field, FLAG, ID, INSTANT, NAME, POSITION, readField } from './fields.ts'
import { BadLine, orBadLine, type ReadRow, ROW_TYPES, type Row, type Type } from './source-rows.ts'
import { BYTE_ORDER_MARK, HAS_MARK, MAX_LINE } from './text.ts'

/** Lines of NDJSON and rows of CSV as rows of tables. Checks that need other lines or the database are in SQL. Pure. */

/** The keys with a meaning in a line of each type, and in a part. */
const KEYS = Object.fromEntries([
  ['part', ['id', 'name', 'certified_at', 'proctor_id']],
  ...ROW_TYPES.map(type => {
    const others = type === 'assessment' ? ['proctor_id', 'parts'] : []
    return [type, ['type', 'id', 'deleted', ...Object.keys(FIELDS[type]), ...others]]
  }),
]) as Record<Type, string[]>

/** The columns with a meaning in a CSV file of a type. */
export const columnsOf = (type: Type) =>
  type === 'part'
    ? ['assessment_id', ...KEYS.part, 'position', 'deleted']
    : KEYS[type].filter(name => name !== 'type' && name !== 'parts')

/** Those that the file must have. */
export const requiredColumns = (type: Type) => columnsOf(type).filter(name => name !== 'deleted')

type OnUnknown = (type: Type, key: string) => void

/** The object of a line of NDJSON; `text` is undefined for a line longer than MAX_LINE. @throws BadLine */
export function readObject(text: string | undefined): Row {
  if (text === undefined) throw new BadLine(`longer than ${MAX_LINE} characters`)
  if (text.startsWith(BYTE_ORDER_MARK)) throw new BadLine(HAS_MARK)
  let value: unknown
  try {
    // A reviver is slow, and few lines have digits before a point or an exponent.
    value = /\d[.eE]/.test(text) ? JSON.parse(text, asWritten as Reviver) : JSON.parse(text)
  } catch {
    throw new BadLine('not valid JSON')
  }
  if (!isObject(value)) throw new BadLine('not a JSON object')
  if (hasRepeatedKey(text, value)) throw new BadLine('a key stands twice in one object: keep one of the two')
  return value
}

type Reviver = Parameters<typeof JSON.parse>[1]

/** 1e5 and 9007199254740991.4 as text: they are no ids, but JavaScript rounds both to whole numbers. */
const asWritten = (_key: string, value: unknown, { source }: { source?: string }) =>
  typeof value === 'number' && /[.eE]/.test(source ?? '') ? source : value

const isObject = (value: unknown): value is Row =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The row of an object, with the parts of an assessment in their order.
 * @param hasPartsApart an assessment without a proctor may get its parts from other rows
 * @throws BadLine, with its subject and the educator of an assessment if they are known
 */
export function readRow(object: Row, onUnknown: OnUnknown = () => {}, hasPartsApart = false): ReadRow {
  const type = ROW_TYPES.find(name => name === object.type)
  if (!type) throw new BadLine('type must be organization, product, user or assessment')
  reportUnknown(type, object, onUnknown)
  const id = readField(object, 'id', ID)
  try {
    if (readField(object, 'deleted', FLAG)) return { type, row: { id, deleted: true }, parts: [] }
    const row: Row = { id, deleted: false }
    const fields = FIELDS[type]
    for (const name in fields) row[name] = readField(object, name, fields[name] as Field)
    const parts = type === 'assessment' ? readParts(object, id, onUnknown, hasPartsApart) : []
    return { type, row, parts }
  } catch (error) {
    if (!(error instanceof BadLine)) throw error
    error.subject = { type, id }
    if (type === 'assessment') error.userId = idOf(object.user_id)
    throw error
  }
}

function reportUnknown(type: Type, object: Row, onUnknown: OnUnknown): void {
  for (const key in object) if (!KEYS[type].includes(key)) onUnknown(type, key)
}

/** Separate parts; or the one part that stands for the assessment itself; or none, where parts arrive apart. */
function readParts(
  { parts, proctor_id }: Row,
  assessmentId: number,
  onUnknown: OnUnknown,
  hasPartsApart: boolean,
): Row[] {
  const hasProctor = proctor_id !== undefined && proctor_id !== null
  if (parts === undefined || parts === null) {
    if (hasProctor)
      return [{ ...OWN_PART, id: assessmentId, proctor_id: readField({ proctor_id }, 'proctor_id', ID) }]
    if (hasPartsApart) return []
    throw new BadLine('proctor_id is missing, and there are no parts')
  }
  if (hasProctor) throw new BadLine('proctor_id and parts are both given: each part names its own proctor')
  if (!Array.isArray(parts) || parts.length === 0) throw new BadLine('parts must be a list that is not empty')
  const rows = parts.map((part: unknown, index) => {
    if (!isObject(part)) throw new BadLine(`parts[${index}] must be an object`)
    reportUnknown('part', part, onUnknown)
    return readPart(part, index + 1, `parts[${index}].`)
  })
  const ids = new Set(rows.map(({ id }) => id))
  if (ids.has(assessmentId)) throw new BadLine(`part ${assessmentId} has the id of the assessment itself`)
  if (ids.size < rows.length) throw new BadLine('two parts have the same id')
  return rows
}

/** The part that stands for an assessment without separate ones; it also has the id of the assessment. */
const OWN_PART = { position: 1, name: null, certified_at: null }

const readPart = (part: Row, position: unknown, prefix: string): Row => ({
  id: readField(part, 'id', ID, prefix),
  position,
  name: readField(part, 'name', NAME, prefix),
  certified_at: readField(part, 'certified_at', INSTANT, prefix),
  proctor_id: readField(part, 'proctor_id', ID, prefix),
})

/** The row of cells under their columns, '' for one without a meaning; or a BadLine, with its assessment if known. */
export function readCells(type: Type, columns: string[], cells: string[]): ReadRow | BadLine {
  if (cells.length !== columns.length)
    return new BadLine(`has ${cells.length} fields where the header has ${columns.length}`)
  const object: Row = { type }
  for (const [index, name] of columns.entries())
    if (name !== '') object[name] = jsonValue(name, cells[index] ?? '')
  const read = orBadLine(() =>
    type === 'part' ? { type, row: readPartRow(object), parts: [] } : readRow(object, undefined, true),
  )
  if (!(read instanceof BadLine)) return read
  // An assessment is loaded with all of its rows, or not at all.
  if (type === 'assessment') read.assessmentId = idOf(object.id)
  if (type !== 'part') return read
  read.assessmentId = idOf(object.assessment_id)
  const id = idOf(object.id)
  // Without its assessment, nobody could tell which one is not whole.
  if (read.assessmentId && id) read.subject = { type, id }
  return read
}

const idOf = (value: unknown): number | undefined =>
  Number.isSafeInteger(value) && value !== 0 ? (value as number) : undefined

/** The value that NDJSON would have for a cell. A cell that has none stays text, which its reader refuses. */
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

/** A part with the id of its assessment stands for the assessment itself, which has a name and a date. */
function readPartRow(object: Row): Row {
  const assessment_id = readField(object, 'assessment_id', ID)
  const id = readField(object, 'id', ID)
  const row = { id, assessment_id, apart: true }
  if (readField(object, 'deleted', FLAG)) return { ...row, deleted: true }
  const position = readField(object, 'position', POSITION)
  if (id !== assessment_id) return { ...readPart(object, position, ''), ...row }
  if (object.name !== null || object.certified_at !== null)
    throw new BadLine(`part ${id} has the id of the assessment itself`)
  return { ...OWN_PART, ...row, position, proctor_id: readField(object, 'proctor_id', ID) }
}
