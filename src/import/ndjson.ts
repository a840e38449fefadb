import type { ByteSource } from './bytes.ts'
import { type Line, MAX_LINE, readLines } from './lines.ts'
import { BadLine, type ReadRecord, type RecordSource, type RowType, TABLE_OF } from './record.ts'
import { readLine } from './rows.ts'

/** NDJSON as a source: one file, which holds every type. */
export function ndjson(bytes: ByteSource): RecordSource {
  return {
    files: [undefined],
    types: Object.keys(TABLE_OF) as RowType[],
    hasPartsApart: false,
    notes: [],
    ...(bytes.size !== undefined && { size: bytes.size }),
    async *read(onBytes) {
      for await (const lines of readLines(bytes, onBytes)) {
        yield lines.map(line => ({ file: 0, line: line.number, text: line.text, read: readOne(line) }))
      }
    },
  }
}

function readOne({ text }: Line): ReadRecord | BadLine {
  if (text === undefined) return new BadLine(`longer than ${MAX_LINE} characters`)
  try {
    return readLine(text)
  } catch (error) {
    if (error instanceof BadLine) return error
    throw error
  }
}
