import type { Sort } from '../contract.ts'
import { NARROW_FILTERS } from './conditions.ts'
import { searchOf } from './search.ts'
import type { Spread } from './spread.ts'

/**
 * How the records of a page are found; each way gives the same answer.
 * - whole: along the index of the sort key, documents and all, because nearly every record matches.
 * - along: the same, but the ids of the page come from the index alone, and their documents after that.
 * - organizations: a look into the index of each organization of the scope, and the first of all that these find.
 * - products: the same for each product of the scope, in the order of product names.
 * - picked: all records that match, found by an index of a filter, a search or the products, and sorted then.
 */
export type Way = 'whole' | 'along' | 'organizations' | 'products' | 'picked'

/** What a page is read from: the list, and where in it. */
export interface Listed {
  sort: Sort
  /** The names of the filters' conditions. */
  filters: string[]
  spread: Spread
  /** How many records match, as counted or remembered. */
  count: number
  /** How many records lie between the entry of the page and its far end. */
  distance: number
  /** Whether the page is entered at the start or at the end of the list, or reaches its end. */
  isAtEnd: boolean
}

/**
 * Costs are in entries of an index that is read in its order. An entry takes 0.07 µs where the sets of the scope are
 * constants, and 0.3 µs where each is searched; the row of a record or of a person takes 1.7 µs.
 */
const ROW = 10
const SORTING = 1
/** The way down to the first entry of an organization or a product. */
const LOOK = 10
/** Without three letters in a row the names of all people are read. There is a person for each three records. */
const NAMES = 0.3

/** Up to so many records for each that matches, the next match is near, and its document at hand. */
const MAX_PASSED = 3
/** A page from farther away reads documents that it does not send. */
const MAX_WHOLE = 200

/** The way to a page that reads least. A wrong one is slower, and still right. */
export function wayOf(listed: Listed): Way {
  const { filters, spread, count, distance } = listed
  if (filters.some(name => NARROW_FILTERS.includes(name))) return 'picked'
  const costs = costsOf(listed)
  const way = WAYS.reduce((best, way) => (costs[way] < costs[best] ? way : best))
  const isWhole = filters.length === 0 && distance <= MAX_WHOLE && spread.all <= MAX_PASSED * count
  return way === 'along' && isWhole ? 'whole' : way
}

const WAYS = ['along', 'organizations', 'products', 'picked'] as const

function costsOf(listed: Listed): Record<(typeof WAYS)[number], number> {
  const { sort, filters, spread, count, distance } = listed
  const matches = Math.max(1, count)
  const search = searchOf(filters)
  const rows = search ? ROW : 0
  // Of the filters' columns, the index of days alone has any.
  const alongEntry = 1 + rows + (filters.length > 0 && sort !== 'certified_on' ? ROW : 0)
  const eachEntry = 1 + rows + (filters.length > 0 ? ROW : 0)
  /** Each of some parts of `records` records is read until it has `distance` matches, and these are sorted. */
  const each = (parts: number, records: number) =>
    LOOK * parts +
    eachEntry * Math.min(records, (parts * distance * records) / matches) +
    SORTING * Math.min(parts * distance, matches)
  // The index of a person or a product leads to what a search finds in all organizations: as often there as in the scope.
  const picked = search
    ? (1 + ROW) * ((matches * spread.all) / Math.max(1, spread.records)) +
      (search === 'search_short' ? NAMES * spread.all : 0)
    : Math.min(filters.length > 0 ? spread.all : Number.POSITIVE_INFINITY, (1 + ROW) * spread.ofProducts) +
      ROW * matches
  return {
    along: alongEntry * Math.min(spread.all, (distance * spread.all) / matches + gapOf(listed)),
    // Those without a match are read to their end.
    organizations:
      eachEntry * spread.ofOthers + each(spread.organizationCount, spread.ofOrganizations - spread.ofOthers),
    // A search may find all records of a product or few: those of a product with few are all read.
    products:
      sort === 'product_name' && !search
        ? each(spread.productCount, spread.ofProducts)
        : Number.POSITIVE_INFINITY,
    picked: picked + SORTING * matches,
  }
}

/**
 * The records that come before the first that matches. By product names, the records of a product are adjacent: those of
 * products outside the scope, or those that a search does not find.
 */
function gapOf({ sort, filters, spread, count, isAtEnd }: Listed): number {
  const { all, productCount, ofProducts } = spread
  if (sort !== 'product_name' || !isAtEnd) return 0
  return searchOf(filters)
    ? ((all - count) / Math.max(1, count)) * (all / Math.max(1, productCount))
    : (all - ofProducts) / (productCount + 1)
}
