import { Failure } from '../errors.ts'
import type { ByteSource } from './bytes.ts'
import { readObject, readRow } from './rows.ts'
import { BadLine, type ImportSource, orBadLine, TABLE_OF, TYPES, UnknownNames } from './source-rows.ts'
import { BYTE_ORDER_MARK, LINE_BREAK, MAX_LINE, type OnText, readText } from './text.ts'

/** NDJSON as a source of all types. Only the end line proves that nothing was cut off, or is still being copied. */
export function ndjson(bytes: ByteSource): ImportSource {
  const { name = 'the data', size } = bytes
  const unknown = new UnknownNames()
  const onUnknown = (type: string, key: string) =>
    unknown.add(type === 'part' ? 'parts' : `${type} lines`, key)
  let count = 0
  let hasEnded = false
  let hasMembers = false
  return {
    name,
    files: [undefined],
    unit: 'line',
    types: TYPES,
    hasPartsApart: false,
    notes: () => unknown.notes(),
    cutOff: () =>
      hasEnded ? undefined : `${name} has no end line: is it whole? If so, append ${endLine(count)}`,
    size,
    async *read(onBytes) {
      const members = () => {
        hasMembers = true
      }
      for await (const lines of readLines(bytes, { bytes: onBytes, members }))
        yield lines.flatMap(({ number: line, text }) => {
          const object = orBadLine(() => readObject(text))
          if (count === 0 && object instanceof BadLine && isHeader(name, text))
            throw new Failure(`${name} ${IS_CSV}`)
          const isEnd = !(object instanceof BadLine) && object.type === 'end'
          const wrong = isEnd && object.lines !== count && `the end line must be ${endLine(count)}`
          const problem = hasEnded ? 'lines follow the end line' : wrong
          if (problem)
            throw new Failure(`nothing was loaded: ${name} line ${line}: ${problem}; is the source whole?`)
          hasEnded = isEnd
          if (isEnd) return []
          count += 1
          const read = object instanceof BadLine ? object : orBadLine(() => readRow(object, onUnknown))
          return [{ file: 0, line, text, read }]
        })
      if (hasMembers && !hasEnded)
        throw new Failure(
          `nothing was loaded: ${name} is several gzip files in one, and nobody can tell whether one is missing: append ${endLine(count)}`,
        )
    },
  }
}

/** Whether the first line of a source begins with the name of a column, or stands in a file that is named as CSV is. */
const isHeader = (name: string, text = '') =>
  /^\s*("?)\w+\1\s*[,;\t]/.test(text) || /\.csv(\.gz)?$/i.test(name)

const IS_CSV = `seems to be CSV, which is loaded as a folder: put it into a folder as one of ${TYPES.map(type => `${TABLE_OF[type]}.csv`).join(', ')}, and import the folder`

/** The last line of a file: the number of lines before it that are not blank. */
export const endLine = (lines: number): string => JSON.stringify({ type: 'end', lines })

/** A line of the file, without its end; `text` is undefined where the line is longer than MAX_LINE. */
export type Line = { number: number; text: string | undefined }

/** The lines in batches as they arrive; blank ones are counted and left out. Throws as readText() does. */
export async function* readLines(source: ByteSource, on: OnText): AsyncGenerator<Line[]> {
  let number = 0
  let rest = ''
  const finish = (text: string): Line[] => {
    number += 1
    const line = { number, text: text.length > MAX_LINE ? undefined : text }
    return line.text !== undefined && isBlank(line.text) ? [] : [line]
  }
  let last = ''
  for await (const text of readText(source, on)) {
    if (text === '') continue
    // The LF of a CRLF that was cut in two.
    const parts = text.slice(last === '\r' && text[0] === '\n' ? 1 : 0).split(LINE_BREAK)
    last = text.at(-1) as string
    parts[0] = rest + parts[0]
    // Enough of a line to see that it is too long.
    rest = (parts.pop() as string).slice(0, MAX_LINE + 1)
    yield parts.flatMap(finish)
  }
  if (rest !== '') yield finish(rest)
}

/** A byte order mark is no blank, but JavaScript trims it. */
const isBlank = (text: string) => text.trim() === '' && !text.startsWith(BYTE_ORDER_MARK)
