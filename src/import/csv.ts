import { Failure, firstThree } from '../errors.ts'
import type { ByteSource } from './bytes.ts'
import { type CsvRow, otherSeparator, readRows } from './csv-rows.ts'
import { columnsOf, readCells, requiredColumns } from './rows.ts'
import {
  BadLine,
  type ImportSource,
  printable,
  TABLE_OF,
  TYPES,
  type Type,
  UnknownNames,
} from './source-rows.ts'
import { BYTE_ORDER_MARK, HAS_MARK, readText } from './text.ts'

/** A file of a folder. */
export type StoredFile = ByteSource & { name: string }

/** Text that is CSV, with rows of one type. */
type CsvFile = StoredFile & {
  type: Type
  /** For a query, rows are counted and not the lines of its output. */
  isQuery?: true
}

const plain = (name: string) => name.toLowerCase().replace(/\.gz$/, '')
const NAMES = TYPES.map(type => `${TABLE_OF[type]}.csv`)

/** Whether a file of a folder is read: its name may be in any case, and end in .gz. */
export const isCsvName = (name: string): boolean => NAMES.includes(plain(name))

/** The CSV files of the folder `where`, and the names of all else in it. Throws a Failure if none, or one twice. */
export function csv(stored: StoredFile[], others: string[], where: string): ImportSource {
  const files = TYPES.flatMap((type, index) => {
    const [file, ...more] = stored.filter(({ name }) => plain(name) === NAMES[index])
    if (more.length > 0) throw new Failure(`${where} has ${NAMES[index]} more than once: keep one`)
    return file ? [{ ...file, type }] : []
  })
  if (files.length === 0) throw new Failure(`${where} has none of ${NAMES.join(', ')}`)
  return csvSource(files, where, others)
}

/** Files of known types as one source, in their order. A note lists the names of `others` as ignored. */
export function csvSource(files: CsvFile[], name: string, others: string[]): ImportSource {
  const unknown = new UnknownNames(others)
  /** The files that have been read and end in the middle of a line. */
  const unended = new Set<string>()
  const size = files.reduce((sum, { size = Number.NaN }) => sum + size, 0)
  return {
    name,
    files: files.map(({ name }) => name),
    types: files.map(({ type }) => type),
    hasPartsApart: true,
    cutOff: () =>
      unended.size === 0
        ? undefined
        : `there is no line break at the end of ${firstThree([...unended])}: is it whole? If so, append one`,
    size: Number.isNaN(size) ? undefined : size,
    unit: files.some(({ isQuery }) => isQuery) ? 'row' : 'line',
    notes: () => unknown.notes(),
    async *read(onBytes) {
      for (const [index, file] of files.entries()) {
        const { name, type, isQuery } = file
        let columns: string[] | undefined
        let rows = 0
        const texts = readText(file, { bytes: onBytes, members: () => refuseMembers(name) })
        // Postgres ends the output of a query, or reading it fails.
        const watched = isQuery ? texts : watchEnd(texts, () => unended.add(name))
        for await (const batch of readRows(name, watched)) {
          const header = columns ? undefined : batch.shift()
          if (header) columns = readHeader(file, header, unknown)
          if (!columns) continue
          const names = columns
          yield batch.map(({ line, cells, text }) => {
            rows += 1
            const read = text.startsWith(BYTE_ORDER_MARK)
              ? new BadLine(HAS_MARK)
              : readCells(type, names, cells)
            return { file: index, line: isQuery ? rows : line, text, read }
          })
        }
        if (!columns) throw new Failure(`${name} is empty: its first row must name the columns`)
      }
    },
  }
}

/** Each member may end in a line break. */
function refuseMembers(name: string): never {
  const advice = `make it one: gunzip -c ${name} | gzip > whole.csv.gz`
  throw new Failure(
    `${name} is several gzip files in one, and nobody can tell whether one is missing: ${advice}`,
  )
}

/** The names of the columns; '' for one without a meaning. */
function readHeader({ name, type, isQuery }: CsvFile, row: CsvRow, unknown: UnknownNames): string[] {
  const { line, cells, text } = row
  if (text.startsWith(BYTE_ORDER_MARK)) throw new Failure(`${name} line ${line}: ${HAS_MARK}`)
  const columns = cells.map(cell => cell.trim().toLowerCase())
  const missing = requiredColumns(type).filter(column => !columns.includes(column))
  const separator = missing.length > 0 && otherSeparator(text)
  if (separator) throw new Failure(`${name} ${separator}`)
  if (missing.length > 0) {
    const [lacks, advice] = isQuery
      ? ['gives no', 'name each in the select, as in select key as id, null as seid']
      : ['has no', 'its first row must name all columns, with commas between them']
    throw new Failure(`${name} ${lacks} column ${missing.join(', ')}: ${advice}`)
  }
  const twice = columns.find((column, index) => column !== '' && columns.indexOf(column) !== index)
  if (twice) throw new Failure(`${name} has the column ${printable(twice)} more than once`)
  const known = columnsOf(type)
  for (const column of columns) if (column !== '' && !known.includes(column)) unknown.add(name, column)
  return columns.map(column => (known.includes(column) ? column : ''))
}

/** Passes texts on. Calls `onUnended` if no line break ends the last one, as in most files that are still being copied. */
async function* watchEnd(texts: AsyncIterable<string>, onUnended: () => void) {
  let last = ''
  for await (const text of texts) {
    last = text.at(-1) ?? last
    yield text
  }
  if (!/[\r\n]/.test(last)) onUnended()
}
