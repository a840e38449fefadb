import { pipeline, Readable } from 'node:stream'
import { CsvError, type Info, parse } from 'csv-parse'
import { Failure } from '../errors.ts'
import { readText } from './bytes.ts'
import { type CsvType, isKnownColumn, REQUIRED_COLUMNS, readCells } from './csv-rows.ts'
import { MAX_LINE } from './lines.ts'
import { BadLine, type ReadRecord, type RecordSource, type RowType, type SourceRecord } from './record.ts'
import { UnknownNames } from './unknown.ts'

/** A file of a folder or a zip. */
export interface StoredFile {
  name: string
  size: number
  open(): AsyncIterable<Uint8Array>
}

/** The files that an import takes, in the order in which they are read. */
const FILES: Record<string, CsvType> = {
  'organizations.csv': 'organization',
  'products.csv': 'product',
  'users.csv': 'user',
  'assessments.csv': 'assessment',
  'assessment_parts.csv': 'part',
}

const isTaken = (name: string) => Object.hasOwn(FILES, name)

/**
 * The CSV files of a folder or a zip as one source.
 * @param where what to call the folder or zip
 * @throws Failure when none of them is there, or one of them twice
 */
export function csv(stored: StoredFile[], where: string): RecordSource {
  const names = Object.keys(FILES)
  const files = stored
    .filter(({ name }) => isTaken(name))
    .sort((a, b) => names.indexOf(a.name) - names.indexOf(b.name))
  if (files.length === 0) throw new Failure(`${where} has none of ${names.join(', ')}`)
  const twice = files.find(({ name }, index) => files[index + 1]?.name === name)
  if (twice) throw new Failure(`${where} has ${twice.name} more than once: keep one`)

  const types = files.map(({ name }) => FILES[name] as CsvType)
  const unknown = new UnknownNames()
  const ignored = notesOn(stored.filter(({ name }) => !isTaken(name)).map(({ name }) => name))
  return {
    name: where,
    files: files.map(({ name }) => name),
    types: types.filter((type): type is RowType => type !== 'part'),
    hasPartsApart: true,
    holdsParts: types.includes('part'),
    isWhole: () => true,
    size: files.reduce((sum, { size }) => sum + size, 0),
    notes: () => [...ignored, ...unknown.notes()],
    async *read(onBytes) {
      let before = 0
      for (const [index, file] of files.entries()) {
        yield* readFile(file, index, FILES[file.name] as CsvType, unknown, bytes => onBytes(before + bytes))
        before += file.size
      }
    },
  }
}

function notesOn(ignored: string[]): string[] {
  if (ignored.length === 0) return []
  const more = ignored.length > 5 ? ` and ${ignored.length - 5} more` : ''
  return [`ignored ${ignored.slice(0, 5).join(', ')}${more}`]
}

/** Rows that are handed on at once. */
const BATCH = 500

async function* readFile(
  { name, open }: StoredFile,
  file: number,
  type: CsvType,
  unknown: UnknownNames,
  onBytes: (bytes: number) => void,
): AsyncGenerator<SourceRecord[]> {
  let columns: string[] | undefined
  let batch: SourceRecord[] = []
  for await (const { line, cells, text } of readRows(name, readText({ chunks: open() }, onBytes))) {
    if (!columns) {
      columns = readHeader(name, type, cells)
      for (const column of columns)
        if (column !== '' && !isKnownColumn(type, column)) unknown.add(name, column)
      continue
    }
    batch.push({ file, line, text, read: readOne(type, columns, cells) })
    if (batch.length < BATCH) continue
    yield batch
    batch = []
  }
  if (!columns) throw new Failure(`${name} is empty: its first row must name the columns`)
  yield batch
}

function readHeader(name: string, type: CsvType, cells: string[]): string[] {
  const columns = cells.map(cell => cell.trim().toLowerCase())
  const missing = REQUIRED_COLUMNS[type].filter(column => !columns.includes(column))
  if (missing.length > 0)
    throw new Failure(
      `${name} has no column ${missing.join(', ')}: its first row must name the columns, with commas between them`,
    )
  const twice = columns.find((column, index) => column !== '' && columns.indexOf(column) !== index)
  if (twice) throw new Failure(`${name} has the column ${twice} more than once`)
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
    max_record_size: MAX_LINE,
  })
  const rows = pipeline(Readable.from(watched), parser, () => {}) as unknown as AsyncIterable<{
    record: string[]
    raw: string
    info: Info
  }>
  try {
    for await (const { record, raw, info } of rows) {
      const breaks = record.reduce((sum, cell) => sum + (cell.match(/\r\n|\r|\n/g)?.length ?? 0), 0)
      yield { line: info.lines - breaks, cells: record, text: raw.replace(/\r?\n$/, '') }
    }
  } catch (error) {
    if (sourceError) throw sourceError
    if (error instanceof CsvError) throw failureOf(error, name)
    throw error
  }
}

/** What is in a row is nobody's business: the parser's own message quotes it. */
function failureOf({ code, ...error }: CsvError, name: string): Failure {
  const place = `${name} line ${(error as { lines?: number }).lines ?? '?'}`
  if (code === 'CSV_MAX_RECORD_SIZE')
    return new Failure(`${place}: a row longer than ${MAX_LINE} characters: is a closing quote missing?`)
  return new Failure(`${place}: a quote is not closed, or stands inside a cell and is not doubled`)
}
