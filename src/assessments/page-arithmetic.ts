import type { Entry } from './cursor.ts'

/** The arithmetic of pages: which records a page has, where they lie beside an entry, and what changes move. Pure. */

/** What is known of the length of a list. */
export interface Length {
  count: number
  /** Whether the records were counted in the snapshot of the page. Other counts are wrong after writes past the triggers. */
  isCertain: boolean
  /** Whether the count says where the end of the list is: the records were counted, or the end was found there. */
  knowsEnd: boolean
}

/** The records from `offset` on: `shown` are the page, and `read` are read for it. */
export interface Extent {
  offset: number
  shown: number
  read: number
}

/**
 * The extent of a page. A page that reaches the count reads one record more, unless the count is certain: one that is too
 * low would hide the last records. For a page beyond the count, that record is looked for at the count, until the end was
 * found there.
 */
export function extentOf(offset: number, limit: number, { count, isCertain, knowsEnd }: Length): Extent {
  const shown = Math.max(0, Math.min(limit, count - offset))
  const looksFurther = !isCertain && offset + limit >= count && (shown > 0 || !knowsEnd)
  return { offset: Math.min(offset, count), shown, read: looksFurther ? shown + 1 : shown }
}

/** How many records of a list of `count` come up to an entry. */
export function offsetOf(entry: Entry, count: number): number {
  if (typeof entry === 'object') return entry.offset
  return entry === 'start' ? 0 : count
}

/** Records on one side of an entry, counted from there: `size` records after the first `skip`. */
export interface Run {
  side: 'before' | 'after'
  skip: number
  size: number
}

/**
 * The run that is a page, when `at` records come up to the entry from which it is read; undefined if the page lies on
 * both sides of the entry. From the end of the list no record more can be read.
 */
export function runOf(entry: Entry, at: number, { offset, shown, read }: Extent): Run | undefined {
  const size = entry === 'end' ? shown : read
  // The side says which changes come up to the entry: all of them, if it is the end.
  if (size === 0) return { side: entry === 'end' ? 'before' : 'after', skip: 0, size }
  if (at <= offset) return { side: 'after', skip: offset - at, size }
  if (at >= offset + size) return { side: 'before', skip: at - offset - size, size }
  return undefined
}

/** What has changed in a list: how many more records match, and how many of these come up to an entry. */
export interface Changes {
  counted: number
  moved: number
}

/** A count and the records that come up to an entry, after the changes; undefined if they are impossible. */
export function corrected(
  { count, entry }: { count: number; entry: Entry },
  { counted, moved }: Changes,
): { count: number; at: number } | undefined {
  const now = count + counted
  const at = offsetOf(entry, count) + moved
  // Otherwise records were written past the triggers.
  return at >= 0 && at <= now ? { count: now, at } : undefined
}

/**
 * The run that a statement reads in the changed list, if it was asked for `run`: it skips as many records more or fewer.
 * Undefined if so many have come that the run begins on the other side of the entry.
 */
export function shifted(run: Run, { moved }: Changes): Run | undefined {
  if (run.size === 0) return run
  const skip = run.side === 'after' ? run.skip - moved : run.skip + moved
  return skip < 0 ? undefined : { ...run, skip }
}

/** Whether two runs are of the same records. */
export function areSame(one: Run | undefined, other: Run | undefined): boolean {
  if (!one || one.size !== other?.size) return false
  return one.size === 0 || (one.side === other.side && one.skip === other.skip)
}
