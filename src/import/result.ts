import type { Limit, Summary } from './changes.ts'
import type { LeftOut } from './erased.ts'
import type { Place } from './record.ts'
import type { Problem, Reject } from './rejects.ts'

/** Options of an import; without them it loads the whole source, or nothing. */
export interface ImportOptions {
  /** Everything but the commit. */
  dryRun?: boolean
  /** Takes each bad record; the others are loaded. */
  onReject?: (reject: Reject) => Promise<void> | void
  /** The most records that may be left out; 1 % by default. A share always allows ten. */
  maxRejected?: Limit
  /** Removes everything that the source does not contain, up to this limit. */
  sync?: Limit
  /** Ends the import and leaves the database as it was. */
  signal?: AbortSignal
}

/** What an import changes, and which records it leaves out. */
export interface Comparison {
  rejected: number
  erased: LeftOut
  summary: Summary
  /** A bad record without an id, because of which --sync could remove nothing but parts. */
  keptFor: Place | undefined
}

/** The result of an import: loaded, apart from rejects and erased people, or not because of bad records. */
export type ImportResult =
  | ({ loaded: true; lines: number } & Comparison)
  | {
      loaded: false
      lines: number
      problems: Problem[]
      total: number
      /** The problem is a part of an unknown assessment, which cannot be left out. */
      isPartOfUnknown?: true
    }

/** Rolls the transaction back. */
export class Undone extends Error {
  constructor(readonly result: ImportResult) {
    super()
  }
}
