import type { TransactionSql } from 'postgres'

/** What a source says: rows, each with its place. */

/** Field names and values as the staging tables have them; undefined is what the source does not say. */
export type Row = Record<string, unknown>

/** What an import can hold. */
export type RowType = 'organization' | 'product' | 'user' | 'assessment'

/** Each of them with the table it goes to, in the order in which summaries show them. */
export const TABLE_OF: Record<RowType, string> = {
  organization: 'organizations',
  product: 'products',
  user: 'users',
  assessment: 'assessments',
}

/** Whose row it is, as far as that could be read. */
interface Subject {
  type: RowType
  id: number
}

/** Why a line cannot be loaded; one clause without the line's number. */
export class BadLine extends Error {
  subject: Subject | undefined
  /** The assessment that cannot be loaded without this record, when that record is not the assessment's own. */
  assessmentId: number | undefined
}

/** A row that could be read. A part of an assessment is one of `parts`, or has a record of its own. */
export interface ReadRecord {
  type: RowType | 'part'
  row: Row
  parts: Row[]
}

/** One record of a source: a line of NDJSON, or a row of a CSV file. */
export interface SourceRecord {
  /** Which of the source's files it stands in. */
  file: number
  line: number
  /** As it stands there; undefined when it is too long to be kept. */
  text: string | undefined
  read: ReadRecord | BadLine
}

/** Where an import reads from, whatever its format. */
export interface RecordSource {
  /** What to call it in words: "standard input", "the folder export". */
  name: string
  /** The names of its files, as problems tell them; a source of one file needs none. */
  files: (string | undefined)[]
  /** The types that it holds completely, as far as it is complete: what --sync may remove. */
  types: RowType[]
  /** Parts may arrive apart from their assessment, in records of their own. */
  hasPartsApart: boolean
  /** It holds the parts of its assessments completely too, as far as it is complete. */
  holdsParts: boolean
  /** How its records are counted. */
  unit: 'line' | 'row'
  /** How many bytes there are to read, where that is known before. */
  size?: number
  /** What an operator may want to know about the source; of its contents, as far as it has been read. */
  notes(): string[]
  /**
   * The records in batches as they arrive; reads no faster than the caller takes. `onBytes` is told the stored
   * bytes read so far.
   * @throws Failure for a source that cannot be read, or that says itself that it is not whole
   */
  read(onBytes: (bytes: number) => void): AsyncIterable<SourceRecord[]>
  /** Whether nothing can have been cut off, as far as anybody can tell, once all has been read. */
  isWhole(): boolean
  /** What goes from round to round, where the source is a feed. */
  feed?: Feed
}

/**
 * A source that is read again and again, and gives what has changed since the last time. What it remembers is in the
 * database, and is written in the transaction of the import that it belongs to.
 */
export interface Feed {
  /** Called in the import's transaction before anything is read: no other import goes on. */
  recall(sql: TransactionSql): Promise<void>
  /** Called in the import's transaction when all is written; not when nothing is kept, or a record was left out. */
  remember(sql: TransactionSql): Promise<void>
  /** Whether it gives all that there is, and not only what has changed, once it has been read. */
  isFull(): boolean
  /** From when on it was asked for changes, by its own clock; undefined until it is read. */
  since(): string | undefined
  /** When it succeeded the last time before, in Unix seconds; undefined before the first. */
  lastSuccess(): number | undefined
}

/** Whether a JSON value is an object, and not null or an array. */
export function isObject(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * A record's place as one number, which orders all records of a source: 2^40 lines a file, and 2^12 files,
 * fit a JavaScript number.
 */
export function placeOf({ file, line }: { file: number; line: number }): number {
  return file * LINES + line
}

const LINES = 2 ** 40

/** The file and the line that make up a place. */
export function readPlace(place: number): { file: number; line: number } {
  return { file: Math.floor(place / LINES), line: place % LINES }
}
