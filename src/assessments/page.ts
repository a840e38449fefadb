import type { Runner } from '../postgres/statement.ts'
import { type Access, requireAccess } from './access.ts'
import { constraints, isBigint, NARROW_FILTERS } from './conditions.ts'
import type { PageMemory, Selection } from './page-memory.ts'
import { reachOf, type Shape, type Way } from './page-statement.ts'
import type { ListQuery } from './parameters.ts'
import { type PageRow, selectPage } from './queries.ts'
import { SCOPE_SETS } from './scope.ts'
import { searchOf } from './search.ts'

/** A page: how many records match in all, and its documents, `size` of them, joined by commas, as UTF-8. */
type Page = Pick<Access, 'clientId'> & Pick<PageRow, 'count' | 'documents' | 'size' | 'shown'>

/**
 * The page that a query asks for of what a token may read, and the count beside it, as plain OFFSET and count(*) find
 * them in one snapshot of the present data.
 *
 * It is read by what is remembered. Where that does not hold, it is read once more without: that second answer is
 * right by itself. A token that was not seen before is looked up first, so that a page of a scope that is known
 * is not counted again for it.
 * @throws HttpError 401 or 400
 */
export async function readPage(
  db: Runner,
  memory: PageMemory,
  tokenDigest: Uint8Array,
  query: ListQuery,
): Promise<Page> {
  const known = memory.accessOf(tokenDigest) ?? (await requireAccess(db, tokenDigest))
  let facts = memory.recall(known.scope, query.filter)
  let row = await read(db, tokenDigest, query, known, facts)
  if (!row.isHeld) {
    facts = undefined
    row = await read(db, tokenDigest, query, row.access, undefined)
  }
  const { access, count, documents, size, shown, last, moment } = row
  memory.note(tokenDigest, access)
  const learned = memory.learn(access.scope, query.filter, facts, row)
  if (last) learned.note(orderOf(query), { offset: query.offset + size, ...last, moment })
  return { clientId: access.clientId, count, documents, size, shown }
}

const orderOf = ({ sort, order }: ListQuery) => `${sort} ${order}`

async function read(
  db: Runner,
  token: Uint8Array,
  query: ListQuery,
  { scope, organizations }: Access,
  facts: Selection | undefined,
): Promise<PageRow> {
  const { sort, order, offset, page: limit, filter } = query
  const narrowed = {
    organizations: filter.organization_ids?.filter(isBigint),
    products: filter.product_ids?.filter(isBigint),
  }
  const among = Math.min(narrowed.organizations?.length ?? organizations, organizations)
  const asked = constraints(filter)
  const filters = Object.keys(asked)
  const { from, skip } = facts?.nearest(orderOf(query), offset, limit) ?? { from: 'start', skip: offset }
  const place = typeof from === 'object' ? from : undefined
  const shape: Shape = {
    sort,
    order,
    way: wayOf(filters, among, skip + limit, facts),
    filters,
    narrowed: SCOPE_SETS.filter(set => narrowed[set]),
    from: typeof from === 'object' ? 'place' : from,
    isCounted: facts === undefined,
    reach: reachOf(skip + limit),
  }
  const values = {
    token,
    scope,
    offset,
    limit,
    ...narrowed,
    count: facts?.count,
    count_position: facts?.moment.position,
    count_tag: facts?.moment.tag,
    at: place?.offset,
    key: place?.key,
    id: place?.id,
    place_position: place?.moment.position,
    place_tag: place?.moment.tag,
  }
  return await selectPage(db, shape, Object.assign(values, ...Object.values(asked)))
}

/** Until it is known what part of all records matches: a look into the index of each of more takes too long. */
const FEW_ORGANIZATIONS = 16

/** Where one of so many records matches, the next one is near, and its document at hand. */
const MOST = 3

/** So many records, found by a search, are put in order at once. */
const RARE = 5000

/** What it takes to put a record in order, beside reading the index entry of one. */
const SORTING = 2

/**
 * The way to a page that ends `distance` records behind the place where it is entered, in a scope of so many
 * organizations. Each way gives the same page: what is not known makes it slower and not wrong.
 */
export function wayOf(
  filters: string[],
  organizations: number,
  distance: number,
  facts: Pick<Selection, 'total' | 'count'> | undefined,
): Way {
  if (filters.some(name => NARROW_FILTERS.includes(name))) return 'picked'
  const isPlain = filters.length === 0
  const passed = facts && facts.total > 0 ? facts.total / Math.max(1, facts.count) : undefined
  if (isPlain && facts && passed) {
    const looks = SORTING * Math.min(organizations * distance, facts.count)
    if (looks < distance * passed) return 'few'
    return passed <= MOST && distance <= 200 ? 'whole' : 'along'
  }
  if (organizations <= FEW_ORGANIZATIONS) return 'few'
  return searchOf(filters) && (facts?.count ?? 0) <= RARE ? 'picked' : 'along'
}
