import { Failure } from '../errors.ts'
import type { ByteSource } from './bytes.ts'
import { type Line, MAX_LINE, readLines } from './lines.ts'
import {
  BadLine,
  type ReadRecord,
  type RecordSource,
  type RowType,
  type SourceRecord,
  TABLE_OF,
} from './record.ts'
import { readObject, readRow } from './rows.ts'
import { UnknownNames } from './unknown.ts'

/**
 * NDJSON as a source: one file, which holds every type. Bytes of unknown size are those of a stream, which is only
 * known to be whole by its end line.
 */
export function ndjson(bytes: ByteSource): RecordSource {
  const { name = 'the data', size } = bytes
  const unknown = new UnknownNames()
  let hasEnded = false
  return {
    name,
    files: [undefined],
    unit: 'line',
    types: Object.keys(TABLE_OF) as RowType[],
    hasPartsApart: false,
    holdsParts: true,
    notes: () => unknown.notes(),
    isWhole: () => hasEnded || size !== undefined,
    ...(size !== undefined && { size }),
    async *read(onBytes) {
      let count = 0
      for await (const lines of readLines(bytes, onBytes)) {
        const records: SourceRecord[] = []
        for (const line of lines) {
          if (hasEnded) throw notWhole(name, line, 'lines follow the end line')
          const read = readOne(line, unknown)
          if (read instanceof EndLine) {
            checkEnd(name, line, read, count)
            hasEnded = true
          } else {
            records.push({ file: 0, line: line.number, text: line.text, read })
            count += 1
          }
        }
        yield records
      }
    },
  }
}

/** The last line of a file: how many lines stand before it, as it says. */
class EndLine {
  constructor(readonly lines: unknown) {}
}

function checkEnd(name: string, line: Line, { lines }: EndLine, count: number): void {
  if (!Number.isInteger(lines))
    throw notWhole(name, line, `the end line must say how many lines stand before it: ${endLine(count)}`)
  if (lines !== count)
    throw notWhole(name, line, `the end line says ${lines} lines, and ${count} stand before it`)
}

/** The last line of a file, which says how many lines that are not blank stand before it. */
export const endLine = (lines: number): string => JSON.stringify({ type: 'end', lines })

const notWhole = (name: string, { number }: Line, what: string) =>
  new Failure(`nothing was loaded: ${name} line ${number}: ${what}; is the source whole?`)

function readOne({ text }: Line, unknown: UnknownNames): ReadRecord | EndLine | BadLine {
  if (text === undefined) return new BadLine(`longer than ${MAX_LINE} characters`)
  try {
    const object = readObject(text)
    if (object.type === 'end') return new EndLine(object.lines)
    return readRow(object, (kind, key) => unknown.add(kind === 'part' ? 'parts' : `${kind} lines`, key))
  } catch (error) {
    if (error instanceof BadLine) return error
    throw error
  }
}
