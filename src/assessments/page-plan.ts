import type { ListQuery } from '../contract.ts'
import type { Entry } from './cursor.ts'
import type { Mark } from './mark.ts'
import { type Extent, extentOf, type Length, offsetOf, type Run, runOf } from './page-arithmetic.ts'
import type { Selection } from './selection.ts'
import { type Way, wayOf } from './ways.ts'

/** How a page is read. A copy of what is known of its list: other requests change that while the page is read. */
export interface PagePlan extends Length {
  /** When the count was read. */
  mark: Mark
  /** The records that are the page, the entry from which they are read, and where they lie beside it. */
  extent: Extent
  entry: Entry
  run: Run
  way: Way
}

/**
 * Plans a page of a list from the nearest entry.
 * @param isCertain whether the records were counted in the snapshot of the page
 */
export function planOf(
  query: ListQuery,
  filters: string[],
  selection: Selection,
  isCertain: boolean,
): PagePlan {
  const { sort, offset, page } = query
  const { count, mark, knowsEnd, spread } = selection
  const extent = extentOf(offset, page, { count, isCertain, knowsEnd })
  const entry = selection.nearest(query, extent)
  const run = runOf(entry, offsetOf(entry, count), extent)
  if (!run) throw new Error('a page has records on both sides of its entry')
  const isAtEnd = typeof entry !== 'object' || extent.read > extent.shown
  const way = wayOf({ sort, filters, spread, count, distance: run.skip + run.size, isAtEnd })
  return { count, isCertain, knowsEnd, mark, extent, entry, run, way }
}
