import type { Runner } from '../postgres/statement.ts'
import { type Access, requireAccess } from './access.ts'
import { constraints, isBigint, NARROW_FILTERS } from './conditions.ts'
import type { Entry, PageMemory, Selection } from './page-memory.ts'
import { reachOf, type Shape, type Way } from './page-statement.ts'
import type { ListQuery } from './parameters.ts'
import { type PageRow, selectPage } from './queries.ts'
import { SCOPE_SETS } from './scope.ts'
import { searchOf } from './search.ts'

/**
 * The page of a query in the scope of a token, as plain OFFSET and count(*) find it in one snapshot of the present data.
 *
 * The statement uses hints of the page memory. If it finds them invalid, a second statement without hints reads the page.
 * An unknown token is looked up first, so that the matching records of a known scope need not be counted again.
 * @throws HttpError 401 or 400
 */
export async function readPage(
  db: Runner,
  memory: PageMemory,
  tokenDigest: Uint8Array,
  query: ListQuery,
): Promise<PageRow> {
  const known = memory.accessOf(tokenDigest) ?? (await requireAccess(db, tokenDigest))
  let hints = memory.selectionOf(known.scope, query.filter)
  let row = await read(db, tokenDigest, query, known, hints)
  if (!row.isValid) {
    hints = undefined
    row = await read(db, tokenDigest, query, row.access, hints)
  }
  const { access, size, last, moment } = row
  memory.noteAccess(tokenDigest, access)
  const selection = memory.notePage(access.scope, query.filter, hints, row)
  if (last) selection.notePlace(orderOf(query), { offset: query.offset + size, ...last, moment })
  return row
}

const orderOf = ({ sort, order }: ListQuery) => `${sort} ${order}`

async function read(
  db: Runner,
  token: Uint8Array,
  query: ListQuery,
  { scope, organizations }: Access,
  hints: Selection | undefined,
): Promise<PageRow> {
  const { sort, order, offset, page: limit, filter } = query
  const narrowed = {
    organizations: filter.organization_ids?.filter(isBigint),
    products: filter.product_ids?.filter(isBigint),
  }
  const organizationCount = Math.min(narrowed.organizations?.length ?? organizations, organizations)
  const constrained = constraints(filter)
  const filters = Object.keys(constrained)
  const { from, skip }: Entry = hints?.nearest(orderOf(query), offset, limit) ?? {
    from: 'start',
    skip: offset,
  }
  const place = typeof from === 'object' ? from : undefined
  const shape: Shape = {
    sort,
    order,
    way: wayOf(filters, organizationCount, skip + limit, hints),
    filters,
    narrowed: SCOPE_SETS.filter(set => narrowed[set]),
    from: typeof from === 'object' ? 'place' : from,
    isCounted: hints === undefined,
    reach: reachOf(skip + limit),
  }
  const values = {
    token,
    scope,
    offset,
    limit,
    ...narrowed,
    count: hints?.count,
    count_position: hints?.moment.position,
    count_tag: hints?.moment.tag,
    at: place?.offset,
    key: place?.key,
    id: place?.id,
    place_position: place?.moment.position,
    place_tag: place?.moment.tag,
  }
  return await selectPage(db, shape, Object.assign(values, ...Object.values(constrained)))
}

/** Organizations whose indexes are looked into one by one while the share of matching records is unknown. */
const FEW_ORGANIZATIONS = 16

/** Up to so many records for each that matches, the next match is near, and its document at hand. */
const MAX_PASSED = 3

/** Up to so many records found by a search are sorted at once. */
const MAX_SORTED = 5000

/** The cost of sorting a record, in index entries read. */
const SORTING = 2

/**
 * The way to a page that ends `distance` records after its entry, in a scope of so many organizations. Each way gives
 * the same page; a wrong choice is only slower.
 */
export function wayOf(
  filters: string[],
  organizations: number,
  distance: number,
  hints: Pick<Selection, 'total' | 'count'> | undefined,
): Way {
  if (filters.some(name => NARROW_FILTERS.includes(name))) return 'picked'
  const passed = hints && hints.total > 0 ? hints.total / Math.max(1, hints.count) : undefined
  if (filters.length === 0 && hints && passed) {
    const looks = SORTING * Math.min(organizations * distance, hints.count)
    if (looks < distance * passed) return 'few'
    return passed <= MAX_PASSED && distance <= 200 ? 'whole' : 'along'
  }
  if (organizations <= FEW_ORGANIZATIONS) return 'few'
  return searchOf(filters) && (hints?.count ?? 0) <= MAX_SORTED ? 'picked' : 'along'
}
