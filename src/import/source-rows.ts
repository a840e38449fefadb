import type { TransactionSql } from 'postgres'
import { firstThree } from '../errors.ts'

/** Field names and values, as an object of the source or a row of the staging tables has them. */
export type Row = Record<string, unknown>

/** The source table of each type, in the order of files and summaries. A CSV file has the name of its table. */
export const TABLE_OF = {
  organization: 'organizations',
  product: 'products',
  user: 'users',
  assessment: 'assessments',
  part: 'assessment_parts',
}

/** A type of rows. Parts of an assessment come in its line of NDJSON, or in a CSV file of their own. */
export type Type = keyof typeof TABLE_OF

export const TYPES = Object.keys(TABLE_OF) as Type[]
export const ROW_TYPES = TYPES.filter(type => type !== 'part')

/** Why a line cannot be loaded; one clause without the line's number. */
export class BadLine extends Error {
  /** The type and id of the row, if they could be read. */
  subject: { type: Type; id: number } | undefined
  /** The assessment that cannot be loaded without this row, where parts arrive apart. */
  assessmentId: number | undefined
  /** The educator of an assessment, if that could be read. */
  userId: number | undefined
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

/** A row that could be read. A part of an assessment is one of `parts`, or has a row of its own. */
export type ReadRow = { type: Type; row: Row; parts: Row[] }

/** One row of a source: a line of NDJSON, or a row of a CSV file. */
export interface SourceRow {
  /** Where it stands: the index of its file in `files` of the source, and its line or, for a query, its row, from 1 on. */
  file: number
  line: number
  /** Its original text; undefined when that is too long to be kept. */
  text: string | undefined
  read: ReadRow | BadLine
}

/** What the state of a feed has to know of a round. */
export interface Round {
  /** All rows were compared, and those removed that the platform does not have. */
  isComparison: boolean
  /** The number of rows that were left out. */
  leftOut: number
}

/** The state of a feed between its rounds: in the database, and written in the transaction of the round. */
export interface Feed {
  /** Reads the state, in the import's transaction and before anything is read. */
  readState(sql: TransactionSql): Promise<void>
  /** Writes the state, in the import's transaction. */
  writeState(sql: TransactionSql, round: Round): Promise<void>
  /** Whether the round, once read, gave everything and not only changes. */
  isFull(): boolean
  /** The time from which changes were requested, by the platform's clock; undefined until it is read. */
  since(): string | undefined
}

/** The input of an import, in any format. */
export interface ImportSource {
  /** Its name in words: "standard input", "the folder export". */
  name: string
  /** The names of its files in problems; undefined for a source of one file. */
  files: (string | undefined)[]
  /** The types that a complete source holds completely: --sync may remove from these. */
  types: Type[]
  /** Parts may arrive apart from their assessment, in rows of their own. */
  hasPartsApart: boolean
  unit: 'line' | 'row'
  /** Bytes; unknown for a stream. */
  size: number | undefined
  /** It comes as somebody writes it, as standard input does. */
  isStream?: true
  /** Notes for the operator, on all that has been read so far. */
  notes(): string[]
  /** The rows in batches, read no faster than they are taken. @throws Failure if it is unreadable or not whole */
  read(onBytes: (bytes: number) => void): AsyncIterable<SourceRow[]>
  /** Why the source, once read, may have been cut off, and what proves that it was not; undefined if it is whole. */
  cutOff(): string | undefined
  /** For a source that is read again and again, by its changes. */
  feed?: Feed
}

/**
 * `file` only for a source of several; neither line nor row for a removal by --sync. The rows of a query have no order:
 * in place of the line, the id, or for a row without a readable one its assessment, or at the least its number.
 */
export type Place = { file?: string; line?: number; id?: number; assessment_id?: number; row?: number }

/** A row as the staging tables have it: its place, its id, and the assessment that cannot be loaded without it. */
export interface Located {
  file: number
  line: number
  id?: number | null
  assessment_id?: number | null
}

/** The file of the rows that --sync removes from the table of a type, because no file of the source names them. */
export const syncFile = (type: Type): number => -1 - TYPES.indexOf(type)

/** The place of a row, in the form in which it is reported. */
export function placeIn(
  { files, unit }: ImportSource,
  { file: index, line, id, assessment_id }: Located,
): Place {
  if (index < 0) return { file: '--sync' }
  const name = files[index]
  const file = name === undefined ? {} : { file: name }
  if (unit === 'line') return { ...file, line }
  if (id) return { ...file, id }
  return assessment_id ? { ...file, assessment_id } : { ...file, row: line }
}

/** A place in words: "line 7", "users.csv line 12", "users.sql id 501", "assessment_parts.sql assessment 21". */
export function describePlace({ file, line, id, assessment_id: assessment, row }: Place): string {
  const [position] = Object.entries({ line, id, assessment, row }).filter(
    ([, number]) => number !== undefined,
  )
  return [file, ...(position ?? [])].filter(word => word !== undefined).join(' ')
}

/** Reasons with the places of other rows in words: each is @, the file, a colon and the line. */
export const inWords = (source: ImportSource, reasons: string) =>
  reasons.replaceAll(/@(-?\d+):(\d+)/g, (_, file, line) => {
    const { row, ...others } = placeIn(source, { file: Number(file), line: Number(line) })
    return row === undefined ? describePlace(others) : `another row of ${others.file}`
  })

/** Keys and columns without a meaning, and ignored files: values under a misspelt name would be lost without a note. */
export class UnknownNames {
  private readonly namesOf = new Map<string, Set<string>>()

  constructor(private readonly files: string[] = []) {}

  /** @param where the place of the name, in words: "users.csv" */
  add(where: string, name: string): void {
    const names = this.namesOf.get(where) ?? new Set()
    this.namesOf.set(where, names)
    // There may be as many keys as lines.
    if (names.size < 100) names.add(printable(name))
  }

  /** A clause for the files, and for each place: "unknown in users.csv, and ignored: firstname". */
  notes(): string[] {
    const notes = this.files.length > 0 ? [`ignored ${firstThree(this.files.map(printable))}`] : []
    for (const [where, names] of this.namesOf)
      notes.push(`unknown in ${where}, and ignored: ${firstThree([...names])}`)
    return notes
  }
}

/** A name of the source without control characters, which a terminal would obey. */
export const printable = (name: string) => name.replace(/[\p{C}\s]/gu, '?').slice(0, 40)
