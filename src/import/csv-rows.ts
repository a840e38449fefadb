import { Failure } from '../errors.ts'
import { BYTE_ORDER_MARK, LINE_BREAK, MAX_LINE } from './text.ts'

/** A row of CSV (RFC 4180), with the line at which it begins. */
export interface CsvRow {
  line: number
  cells: string[]
  /** As it stands in the file, without its line break. */
  text: string
}

/** The rows of CSV text in batches as it arrives. Rows without any value are counted and left out. @throws Failure */
export async function* readRows(name: string, texts: AsyncIterable<string>): AsyncGenerator<CsvRow[]> {
  let rest = ''
  let line = 1
  let isFirst = true
  /** Takes the rows out of `rest` that are whole. */
  const take = (isLast: boolean): CsvRow[] => {
    const rows: CsvRow[] = []
    let start = 0
    while (start < rest.length) {
      const row = readRow(rest, start, isLast)
      if ((row?.end ?? rest.length) - start > MAX_LINE) throw new BadRow(start, TOO_LONG)
      if (!row) break
      const { cells, end, next } = row
      const text = rest.slice(start, end)
      if (text.startsWith(BYTE_ORDER_MARK) || cells.some(cell => cell.trim() !== '')) {
        rows.push({ line, cells, text })
        isFirst = false
      }
      // A quoted cell may hold line breaks.
      line += text.includes('"') ? breaksIn(rest.slice(start, next)) : 1
      start = next
    }
    rest = rest.slice(start)
    return rows
  }
  const takeOrRefuse = (isLast: boolean) => {
    const from = line
    try {
      return take(isLast)
    } catch (error) {
      if (!(error instanceof BadRow)) throw error
      const separator = isFirst && otherSeparator(rest)
      if (separator) throw new Failure(`${name} ${separator}`)
      throw new Failure(`${name} line ${from + breaksIn(rest.slice(0, error.at))}: ${error.message}`)
    }
  }
  for await (const text of texts) {
    rest += text
    yield takeOrRefuse(false)
  }
  yield takeOrRefuse(true)
}

const breaksIn = (text: string) => text.split(LINE_BREAK).length - 1

/** A row that cannot be read. It never quotes the row, which is personal data. */
class BadRow extends Error {
  constructor(
    /** The character of the text at which the row is bad. */
    readonly at: number,
    message: string,
  ) {
    super(message)
  }
}

const UNCLOSED = 'the quote that begins here is not closed, or a quote inside its cell is not doubled'
const STRAY =
  'a quote stands in a cell that does not begin with one: put the cell in quotes, and double the quote'
const TOO_LONG = `a row longer than ${MAX_LINE} characters: is a closing quote missing?`

/** The row at `start`: its cells, its end, and the beginning of the next one; undefined if more text may belong to it. */
function readRow(text: string, start: number, isLast: boolean) {
  const cells: string[] = []
  for (let at = start; ; at += 1) {
    const cell = text[at] === '"' ? readQuoted(text, at, isLast) : readPlain(text, at)
    if (!cell || (cell.end === text.length && !isLast)) return undefined
    cells.push(cell.value)
    at = cell.end
    if (text[at] === ',') continue
    // The LF of a CRLF may not have arrived.
    if (text[at] === '\r' && at + 1 === text.length && !isLast) return undefined
    return { cells, end: at, next: at + (text.startsWith('\r\n', at) ? 2 : 1) }
  }
}

const PLAIN = /[^,\r\n]*/y

function readPlain(text: string, start: number) {
  PLAIN.lastIndex = start
  const value = PLAIN.exec(text)?.[0] ?? ''
  if (value.includes('"')) throw new BadRow(start, STRAY)
  return { value, end: start + value.length }
}

function readQuoted(text: string, start: number, isLast: boolean) {
  let close = text.indexOf('"', start + 1)
  while (close !== -1 && text[close + 1] === '"') close = text.indexOf('"', close + 2)
  if (close === -1) {
    // Found out before all of the text is in memory.
    if (isLast || text.length - start > MAX_LINE) throw new BadRow(start, UNCLOSED)
    return undefined
  }
  const end = close + 1
  if (end < text.length && !/[,\r\n]/.test(text[end] as string)) throw new BadRow(start, UNCLOSED)
  return { value: text.slice(start + 1, close).replaceAll('""', '"'), end }
}

/** Why a header cannot be read: columns that something else separates than commas. */
export function otherSeparator(text: string): string | undefined {
  const header = /[^\r\n]+/.exec(text)?.[0] ?? ''
  const [separator] = (!header.includes(',') && /[;\t|]/.exec(header)) || []
  const words = { ';': 'semicolons', '\t': 'tabs', '|': 'bars' }[separator ?? '']
  return words && `separates its columns with ${words}: save it with commas`
}
