import type { Feed } from './platform/feed.ts'

/** Field names and values as the staging tables have them; a value that the source leaves out is undefined. */
export type Row = Record<string, unknown>

export type RowType = 'organization' | 'product' | 'user' | 'assessment'

/** The source table of each type, in the order of summaries. */
export const TABLE_OF: Record<RowType, string> = {
  organization: 'organizations',
  product: 'products',
  user: 'users',
  assessment: 'assessments',
}

/** Why a line cannot be loaded; one clause without the line's number. */
export class BadLine extends Error {
  /** The type and id of the record, if they could be read. */
  subject: { type: RowType; id: number } | undefined
  /** The assessment that cannot be loaded without this record, where parts arrive apart. */
  assessmentId: number | undefined
}

/** The value that `read` returns, or the BadLine that it throws. */
export function orBadLine<Value>(read: () => Value): Value | BadLine {
  try {
    return read()
  } catch (error) {
    if (error instanceof BadLine) return error
    throw error
  }
}

/** A record that could be read. A part of an assessment is one of `parts`, or has a record of its own. */
export interface ReadRecord {
  type: RowType | 'part'
  row: Row
  parts: Row[]
}

/** One record of a source: a line of NDJSON, or a row of a CSV file. */
export interface SourceRecord {
  /** The index of its file. */
  file: number
  line: number
  /** Its original text; undefined when that is too long to be kept. */
  text: string | undefined
  read: ReadRecord | BadLine
}

/** The input of an import, in any format. */
export interface RecordSource {
  /** Its name in words: "standard input", "the folder export". */
  name: string
  /** The names of its files in problems; undefined for a source of one file. */
  files: (string | undefined)[]
  /** The types that a complete source holds completely: --sync may remove from these. */
  types: RowType[]
  /** Parts may arrive apart from their assessment, in records of their own. */
  hasPartsApart: boolean
  /** A complete source holds all parts of its assessments. */
  holdsParts: boolean
  /** The unit in which its records are counted. */
  unit: 'line' | 'row'
  /** Bytes; unknown for a stream. */
  size?: number
  /** Notes for the operator, on all that has been read so far. */
  notes(): string[]
  /**
   * The records in batches as they arrive. Reads no faster than the consumer takes.
   * @param onBytes takes the size of each stored chunk
   * @throws Failure for a source that cannot be read, or that is not whole by its own end line
   */
  read(onBytes: (bytes: number) => void): AsyncIterable<SourceRecord[]>
  /** Whether the source, once read, is known to be whole. */
  isWhole(): boolean
  /** For a source that is read again and again, by its changes. */
  feed?: Feed
}
