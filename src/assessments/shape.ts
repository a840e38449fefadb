import { sql } from 'drizzle-orm'
import type { Order, Sort } from '../contract.ts'
import type { Source } from './page-state.ts'
import type { Membership } from './scope.ts'

/** What the texts of a count and of a page depend on. Their values are parameters. */

/** How a list is counted, beside its filters. */
export interface Counting {
  source: Source
  filters: string[]
  /** Whether the records themselves are counted: writes past the triggers make kept counts wrong. */
  isExact: boolean
}

/**
 * How many records a walk reads at most; the first is the reach of a page that begins near a cursor. Literals: for a
 * parameter Postgres would sort a tenth of all records.
 */
export const REACHES = { 200: sql`200`, 1e4: sql`10000`, 1e6: sql`1000000`, 1e9: sql`1000000000` }
export type Reach = keyof typeof REACHES

/** What the text of a page depends on. */
export interface Shape {
  source: Source
  sort: Sort
  order: Order
  filters: string[]
  /**
   * - gathered: all matches are found by their filter, and sorted.
   * - gathered in scope: the same, but a search looks at each record that the rest finds, and not at all people that it finds.
   * - walked: along the index of the sort, to the ids of the page; then their documents are read.
   * - dense: the same, but documents are read on the way, because most of them are sent.
   */
  way: 'gathered' | 'gathered in scope' | 'walked' | 'dense'
  /** Whether a search of a walk looks at the person of each record, because it finds many. */
  isEach: boolean
  /** Whether the walk begins at a cursor, or at an end of the list. */
  hasCursor: boolean
  /** Whether it goes against the order. */
  isBackward: boolean
  /** Whether the products bound the walk, which may come to the records before the first or after the last of the list. */
  isBounded: boolean
  /** No less than what is skipped and read. */
  reach: Reach
  /** How it is found out whether a record is of the sets, and whether the product comes first, which leaves fewer. */
  membership: Membership
  isByProduct: boolean
  /** Whether disclosures are recorded, as remembered. */
  isRecorded: boolean
  /** How the list is counted in the snapshot of the page, whatever its version. Otherwise its count is remembered. */
  counting?: Counting
}
