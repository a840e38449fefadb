import { pipeline, Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { Failure, firstThree } from '../errors.ts'
import {
  placeOf,
  printable,
  type RecordSource,
  type SourceRecord,
  TABLE_OF,
  TYPES,
  type Type,
  UnknownNames,
} from './record.ts'
import { columnsOf, readCells, requiredColumns } from './rows.ts'
import { type ByteSource, MAX_LINE, readText } from './text.ts'

/** A file of a folder. */
export type StoredFile = ByteSource & { name: string }

/** Text that is CSV, with rows of one type. */
type CsvFile = StoredFile & {
  type: Type
  /** For a query, rows are counted and not the lines of its output. */
  isQuery?: true
}

/** The CSV files of the folder `where`, in any case and also as .gz. Throws a Failure if none, or one twice. */
export function csv(stored: StoredFile[], where: string): RecordSource {
  const plain = (name: string) => name.toLowerCase().replace(/\.gz$/, '')
  const names = TYPES.map(type => `${TABLE_OF[type]}.csv`)
  const files = TYPES.flatMap((type, index) => {
    const [file, ...others] = stored.filter(({ name }) => plain(name) === names[index])
    if (others.length > 0) throw new Failure(`${where} has ${names[index]} more than once: keep one`)
    return file ? [{ ...file, type }] : []
  })
  if (files.length === 0) throw new Failure(`${where} has none of ${names.join(', ')}`)
  const others = stored.map(({ name }) => name).filter(name => !names.includes(plain(name)))
  return csvSource(files, where, others)
}

/** Files of known types as one source, in their order. A note lists the names of `others` as ignored. */
export function csvSource(files: CsvFile[], name: string, others: string[]): RecordSource {
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
        let batch: SourceRecord[] = []
        let rows = 0
        const texts = readText(file, onBytes)
        // Postgres ends the output of a query, or reading it fails.
        const watched = isQuery ? texts : watchEnd(texts, () => unended.add(name))
        for await (const row of readRows(name, watched)) {
          if (!columns) {
            columns = readHeader(file, row.cells, unknown)
            continue
          }
          rows += 1
          const read = readCells(type, columns, row.cells)
          batch.push({ place: placeOf(index, isQuery ? rows : row.line), text: row.text, read })
          if (batch.length < 500) continue
          yield batch
          batch = []
        }
        if (!columns) throw new Failure(`${name} is empty: its first row must name the columns`)
        yield batch
      }
    },
  }
}

/** The names of the columns; '' for one without a meaning. */
function readHeader({ name, type, isQuery }: CsvFile, cells: string[], unknown: UnknownNames): string[] {
  const columns = cells.map(cell => cell.trim().toLowerCase())
  const missing = requiredColumns(type).filter(column => !columns.includes(column))
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

async function* readRows(name: string, texts: AsyncIterable<string>) {
  /** The lines before the next row and the blank lines above it, each of which is one character of its raw text. */
  let lines = 0
  const lineOf = (raw = '') => lines + 1 + raw.search(/[^\r\n]|$/)
  const parser = parse({
    raw: true,
    relax_column_count: true,
    skip_empty_lines: true,
    // All of them, not the one that ends the first line: people join files of several systems.
    record_delimiter: ['\r\n', '\n', '\r'],
    max_record_size: MAX_LINE,
    on_record(parsed) {
      const { record, raw } = parsed as unknown as { record: string[]; raw: string }
      const line = lineOf(raw)
      const text = raw.replace(/^[\r\n]+|[\r\n]$/g, '')
      // A quoted cell may hold line breaks.
      lines = line + (text.match(/\r\n|\r|\n/g)?.length ?? 0)
      return { line, cells: record, text } as never
    },
  })
  const rows = pipeline(Readable.from(texts), parser, () => {})
  try {
    yield* rows as unknown as AsyncIterable<{ line: number; cells: string[]; text: string }>
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    // The parser's own message quotes the row, which is personal data.
    const { code, raw } = error as CsvError & { raw?: string }
    const place = `${name} line ${lineOf(raw)}`
    if (code === 'CSV_MAX_RECORD_SIZE')
      throw new Failure(`${place}: a row longer than ${MAX_LINE} characters: is a closing quote missing?`)
    throw new Failure(`${place}: a quote is not closed, or stands inside a cell and is not doubled`)
  }
}
