import type { Limit } from '../limit.ts'
import type { Summary } from './changes.ts'
import type { LeftOut } from './erased.ts'
import type { Problem, Reason, Reject } from './rejects.ts'
import type { LostParts } from './removals.ts'
import type { Place } from './source-rows.ts'

/** Options of an import; without them it loads the whole source, or nothing. */
export interface ImportOptions {
  /** Everything but the commit. */
  dryRun?: boolean
  /** Takes each bad row; the others are loaded. */
  onReject?: (reject: Reject) => Promise<void> | void
  /** The most rows that may be left out; 1 % by default. A share always allows ten. */
  maxRejected?: Limit
  /** Removes everything that the source does not contain, up to this limit. */
  sync?: Limit
  /** The most that a round of a feed may remove from a table; 10 % by default. A share always allows ten. */
  maxRemoved?: Limit
  /** The command to type to import this again with one more option; without it, an error speaks of the same command. */
  again?: (option: string) => string
}

/** What an import changes, and which rows it leaves out. */
export interface Comparison {
  rejected: number
  /** The places of the first three, in words. */
  firstRejected: string[]
  /** Why rows were rejected. */
  reasons: Reason[]
  erased: LeftOut
  summary: Summary
  /** The first bad row of which nobody knows the id. Because of it, --sync could remove nothing but parts. */
  unidentified: Place | undefined
  /** Records that lost parts, which the source did not give with the others. */
  lostParts: LostParts
}

/** The result of an import: loaded, apart from rejects and erased people, or not because of bad rows. */
export type ImportResult =
  /** `remains`: what remains to be done after the load, as ANALYZE failed. */
  | ({ loaded: true; lines: number; remains?: string } & Comparison)
  | {
      loaded: false
      lines: number
      /** The first of them, of `listed` rows. */
      problems: Problem[]
      listed: number
      /** The number of bad rows, and of those for each reason. */
      total: number
      reasons: Reason[]
      /** The problem is a part of an unknown assessment, which cannot be left out. */
      isPartOfUnknown?: true
    }

/** Rolls the transaction back. */
export class Undone extends Error {
  constructor(readonly result: ImportResult) {
    super()
  }
}
