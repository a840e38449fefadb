import type { ByteSource } from './bytes.ts'
import { type Line, MAX_LINE, readLines } from './lines.ts'
import { BadLine, type ReadRecord, type RecordSource, type RowType, TABLE_OF } from './record.ts'
import { readLine } from './rows.ts'
import { UnknownNames } from './unknown.ts'

/** NDJSON as a source: one file, which holds every type. */
export function ndjson(bytes: ByteSource): RecordSource {
  const unknown = new UnknownNames()
  return {
    files: [undefined],
    types: Object.keys(TABLE_OF) as RowType[],
    hasPartsApart: false,
    notes: () => unknown.notes(),
    ...(bytes.size !== undefined && { size: bytes.size }),
    async *read(onBytes) {
      for await (const lines of readLines(bytes, onBytes)) {
        yield lines.map(line => {
          return { file: 0, line: line.number, text: line.text, read: readOne(line, unknown) }
        })
      }
    },
  }
}

function readOne({ text }: Line, unknown: UnknownNames): ReadRecord | BadLine {
  if (text === undefined) return new BadLine(`longer than ${MAX_LINE} characters`)
  try {
    return readLine(text, (kind, key) => unknown.add(kind === 'part' ? 'parts' : `${kind} lines`, key))
  } catch (error) {
    if (error instanceof BadLine) return error
    throw error
  }
}
