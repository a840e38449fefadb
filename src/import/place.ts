import type { RecordSource } from './record.ts'

/**
 * The place of a record: `file` only for a source of several, `row` instead of `line` for the rows of a query, and
 * neither for a removal by --sync.
 */
export interface Place {
  file?: string
  line?: number
  row?: number
}

/** Lines of a file: 2^40 lines a file and 2^12 files fit a JavaScript number. */
const LINES = 2 ** 40

/** Places from this one on belong to removals by --sync: no source has so many files. */
export const SYNC_PLACE = 4000 * LINES

/** A record's place as one number, which orders all records of a source. */
export function placeOf({ file, line }: { file: number; line: number }): number {
  return file * LINES + line
}

/** The place that a number stands for. */
export function placeIn({ files, unit }: Pick<RecordSource, 'files' | 'unit'>, place: number): Place {
  if (place >= SYNC_PLACE) return { file: '--sync' }
  const name = files[Math.floor(place / LINES)]
  return { ...(name !== undefined && { file: name }), [unit]: place % LINES }
}

/** A place in words: "line 7", "users.csv line 12", "users.sql row 12". */
export function describePlace({ file, line, row }: Place): string {
  const position = line !== undefined ? `line ${line}` : row !== undefined && `row ${row}`
  return [file, position].filter(Boolean).join(' ')
}
