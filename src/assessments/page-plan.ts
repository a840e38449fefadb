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
 * The run that is a page, when `at` records come up to the entry from which it is read; undefined if the page lies on
 * both sides of the entry. From the end of the list no record more can be read.
 */
export function runOf(entry: Entry, at: number, { offset, shown, read }: Extent): Run | undefined {
  const size = entry === 'end' ? shown : read
  if (size === 0) return { side: 'after', skip: 0, size }
  if (at <= offset) return { side: 'after', skip: offset - at, size }
  if (at >= offset + size) return { side: 'before', skip: at - offset - size, size }
  return undefined
}

/** What changed in a list since it was remembered: how many more records match, and how many of these come up to the entry. */
export interface Changes {
  counted: number
  moved: number
}

/** The run that a statement reads in the changed list, if it was asked for `run`: the entry has moved. */
export function shifted({ side, skip, size }: Run, { moved }: Changes): Run {
  return { side, skip: Math.max(0, side === 'after' ? skip - moved : skip + moved), size }
}

/** Whether two runs are of the same records. */
export const areSame = (one: Run, other: Run | undefined): boolean =>
  one.size === other?.size && (one.size === 0 || (one.side === other.side && one.skip === other.skip))

/** A count and the records that come up to an entry, corrected by the changes since; undefined if they are impossible. */
export function corrected(
  { count, entry }: { count: number; entry: Entry },
  { counted, moved }: Changes,
): { count: number; at: number } | undefined {
  const now = count + counted
  const at = offsetOf(entry, count) + moved
  // Otherwise records were written past the triggers.
  return at >= 0 && at <= now ? { count: now, at } : undefined
}

/** How many records of a list of `count` come up to an entry. */
export function offsetOf(entry: Entry, count: number): number {
  if (typeof entry === 'object') return entry.offset
  return entry === 'start' ? 0 : count
}
