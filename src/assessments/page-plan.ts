import type { Entry } from './cursor.ts'

/** The arithmetic of pages: how many records a page has, where they lie beside a cursor, and what changes move. Pure. */

/** Records beside a cursor or an end, counted from there: `size` records after the first `skip`. */
export interface Run {
  side: 'before' | 'after'
  skip: number
  size: number
}

/** The records from `offset` on: `shown` are the page, and `read` are read for it. */
export interface Extent {
  offset: number
  shown: number
  read: number
}

/** What is known of the length of a list. */
export interface Length {
  count: number
  /** Whether the count is one that writers keep, which may be wrong after writes past the triggers. */
  isKept: boolean
  /** Whether the count says where the end of the list is: the records were counted, or the end was found there. */
  knowsEnd: boolean
}

/**
 * The extent of a page. A page that reaches a count that writers keep reads one record more: a count that is too low
 * would hide the last records. For a page beyond the count, that record is looked for at the count, until the end was
 * found there.
 */
export function extentOf(offset: number, limit: number, { count, isKept, knowsEnd }: Length): Extent {
  const shown = Math.max(0, Math.min(limit, count - offset))
  const looksFurther = isKept && offset + limit >= count && (shown > 0 || !knowsEnd)
  return { offset: Math.min(offset, count), shown, read: looksFurther ? shown + 1 : shown }
}

/**
 * The runs that are a page, in its order, when `at` records come up to the entry from which they are read. From the end
 * of the list no record more can be read.
 */
export function runsOf(entry: Entry, at: number, { offset, shown, read }: Extent): Run[] {
  const size = entry === 'end' ? shown : read
  const sizeBefore = Math.max(0, Math.min(at - offset, size))
  const runs: Run[] = [
    { side: 'before', skip: Math.max(0, at - offset - size), size: sizeBefore },
    { side: 'after', skip: Math.max(0, offset - at), size: size - sizeBefore },
  ]
  return runs.filter(run => run.size > 0)
}

/** What the log of changes says of a remembered count and cursor, in one snapshot. */
export interface Changes {
  /** Whether the log has the mark of each. Otherwise it is too old, or of a database that was set back. */
  isLogged: boolean
  /** Whether a row stands for any number of changes: nothing can be corrected. */
  isSummary: boolean
  /** How many more records match than at the mark of the count, and how many of these come up to the cursor. */
  counted: number
  moved: number
}

/** A count and the records that come up to an entry, corrected by changes since their marks; undefined if impossible. */
export function corrected(
  { count, entry }: { count: number; entry: Entry },
  { isLogged, isSummary, counted, moved }: Changes,
): { count: number; at: number } | undefined {
  if (!isLogged || isSummary) return undefined
  const now = count + counted
  const at = typeof entry === 'object' ? entry.offset + moved : offsetOf(entry, now)
  // Otherwise records were written past the triggers.
  return at >= 0 && at <= now ? { count: now, at } : undefined
}

/** How many records of a list of `count` come up to an entry. */
export function offsetOf(entry: Entry, count: number): number {
  if (typeof entry === 'object') return entry.offset
  return entry === 'start' ? 0 : count
}
