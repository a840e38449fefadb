import { pipeline, Readable } from 'node:stream'
import { CsvError, type Info, parse } from 'csv-parse'
import { Failure } from '../errors.ts'
import { readText } from './bytes.ts'
import { type CsvType, isKnownColumn, REQUIRED_COLUMNS, readCells } from './csv-rows.ts'
import { MAX_LINE } from './lines.ts'
import { BadLine, type ReadRecord, type RecordSource, type RowType, type SourceRecord } from './record.ts'
import { shown, UnknownNames } from './unknown.ts'

/** A file of a folder or a zip. */
export interface StoredFile {
  name: string
  size: number
  open(): AsyncIterable<Uint8Array>
}

/** Something that is CSV when it is opened, and of which type its rows are. */
export interface CsvFile extends Omit<StoredFile, 'size'> {
  type: CsvType
  /** Bytes; unknown for the rows of a query. */
  size?: number
  /** It is a query: its rows are counted, and not the lines of what it gives. */
  isQuery?: true
}

/** What the files are called that an import takes, in the order in which they are read. */
export const FILE_NAMES: Record<string, CsvType> = {
  organizations: 'organization',
  products: 'product',
  users: 'user',
  assessments: 'assessment',
  assessment_parts: 'part',
}

const FILES = Object.fromEntries(Object.entries(FILE_NAMES).map(([name, type]) => [`${name}.csv`, type]))

/** By its name a file is taken in whatever case, plain or gzipped. */
const plainName = (name: string) => name.toLowerCase().replace(/\.gz$/, '')

/**
 * The CSV files of a folder or a zip as one source.
 * @param where what to call the folder or zip
 * @throws Failure when none of them is there, or one of them twice
 */
export function csv(stored: StoredFile[], where: string): RecordSource {
  const files: CsvFile[] = []
  for (const [name, type] of Object.entries(FILES)) {
    const [file, ...others] = stored.filter(file => plainName(file.name) === name)
    if (others.length > 0) throw new Failure(`${where} has ${name} more than once: keep one`)
    if (file) files.push({ ...file, type })
  }
  if (files.length === 0) throw new Failure(`${where} has none of ${Object.keys(FILES).join(', ')}`)

  const others = stored.map(({ name }) => name).filter(name => !(plainName(name) in FILES))
  return csvSource(files, where, others)
}

/**
 * Files of known types as one source, in their order.
 * @param name what to call all of them
 * @param others names of files beside them, to be told as ignored
 */
export function csvSource(files: CsvFile[], name: string, others: string[]): RecordSource {
  const types = files.map(({ type }) => type)
  const unknown = new UnknownNames()
  const ignored = notesOn(others)
  const size = files.reduce<number | undefined>(
    (sum, { size }) => (sum === undefined || size === undefined ? undefined : sum + size),
    0,
  )
  return {
    name,
    files: files.map(({ name }) => name),
    types: types.filter((type): type is RowType => type !== 'part'),
    hasPartsApart: true,
    holdsParts: types.includes('part'),
    isWhole: () => true,
    ...(size !== undefined && { size }),
    unit: files.some(({ isQuery }) => isQuery) ? 'row' : 'line',
    notes: () => [...ignored, ...unknown.notes()],
    async *read(onBytes) {
      let before = 0
      for (const [index, file] of files.entries()) {
        let read = 0
        yield* readFile(file, index, unknown, bytes => {
          read = bytes
          onBytes(before + bytes)
        })
        before += file.size ?? read
      }
    },
  }
}

function notesOn(ignored: string[]): string[] {
  if (ignored.length === 0) return []
  const more = ignored.length > 5 ? ` and ${ignored.length - 5} more` : ''
  return [`ignored ${ignored.slice(0, 5).map(shown).join(', ')}${more}`]
}

/** Rows that are handed on at once. */
const BATCH = 500

async function* readFile(
  { name, type, isQuery, open }: CsvFile,
  file: number,
  unknown: UnknownNames,
  onBytes: (bytes: number) => void,
): AsyncGenerator<SourceRecord[]> {
  let columns: string[] | undefined
  let batch: SourceRecord[] = []
  let rows = 0
  for await (const { line, cells, text } of readRows(name, readText({ name, chunks: open() }, onBytes))) {
    if (!columns) {
      columns = readHeader(name, type, cells, isQuery)
      for (const column of columns)
        if (column !== '' && !isKnownColumn(type, column)) unknown.add(name, column)
      continue
    }
    rows += 1
    const read = readOne(type, columns, cells)
    // Where a row stands in the answer of a query helps nobody to find it.
    if (isQuery && read instanceof BadLine && read.subject)
      read.message = `id ${read.subject.id}: ${read.message}`
    batch.push({ file, line: isQuery ? rows : line, text, read })
    if (batch.length < BATCH) continue
    yield batch
    batch = []
  }
  if (!columns) throw new Failure(`${name} is empty: its first row must name the columns`)
  yield batch
}

function readHeader(name: string, type: CsvType, cells: string[], isQuery = false): string[] {
  const columns = cells.map(cell => cell.trim().toLowerCase())
  const missing = REQUIRED_COLUMNS[type].filter(column => !columns.includes(column))
  if (missing.length > 0) {
    const what = `${name} ${isQuery ? 'gives' : 'has'} no column ${missing.join(', ')}`
    const advice = isQuery
      ? 'name it in the select, as in select key as id'
      : 'its first row must name the columns, with commas between them'
    throw new Failure(`${what}: ${advice}`)
  }
  const twice = columns.find((column, index) => column !== '' && columns.indexOf(column) !== index)
  if (twice) throw new Failure(`${name} has the column ${shown(twice)} more than once`)
  return columns
}

function readOne(type: CsvType, columns: string[], cells: string[]): ReadRecord | BadLine {
  try {
    return readCells(type, columns, cells)
  } catch (error) {
    if (error instanceof BadLine) return error
    throw error
  }
}

interface CsvRow {
  /** Where it begins: a quoted cell may hold line breaks. */
  line: number
  cells: string[]
  text: string
}

async function* readRows(name: string, texts: AsyncIterable<string>): AsyncGenerator<CsvRow> {
  let sourceError: unknown
  const watched = (async function* () {
    try {
      yield* texts
    } catch (error) {
      sourceError = error
      throw error
    }
  })()
  const parser = parse({
    info: true,
    raw: true,
    relax_column_count: true,
    skip_empty_lines: true,
    // Not as the first line ends: files are put together from others.
    record_delimiter: ['\r\n', '\n', '\r'],
    max_record_size: MAX_LINE,
  })
  /** Line breaks in cells that the parser has counted twice: each CRLF. */
  let twice = 0
  const rows = pipeline(Readable.from(watched), parser, () => {}) as unknown as AsyncIterable<{
    record: string[]
    raw: string
    info: Info
  }>
  try {
    for await (const { record, raw, info } of rows) {
      const text = raw.replace(/^[\r\n]+|[\r\n]+$/g, '')
      const breaks = /[\r\n]/.test(text) ? record.flatMap(cell => cell.match(/\r\n|\r|\n/g) ?? []) : []
      twice += breaks.filter(one => one === '\r\n').length
      yield { line: info.lines - twice - breaks.length, cells: record, text }
    }
  } catch (error) {
    if (sourceError) throw sourceError
    if (error instanceof CsvError) throw failureOf(error, name, twice)
    throw error
  }
}

/** What is in a row is nobody's business: the parser's own message quotes it. */
function failureOf({ code, ...error }: CsvError, name: string, twice: number): Failure {
  const { lines } = error as { lines?: number }
  const place = `${name} line ${lines === undefined ? '?' : lines - twice}`
  if (code === 'CSV_MAX_RECORD_SIZE')
    return new Failure(`${place}: a row longer than ${MAX_LINE} characters: is a closing quote missing?`)
  return new Failure(`${place}: a quote is not closed, or stands inside a cell and is not doubled`)
}
