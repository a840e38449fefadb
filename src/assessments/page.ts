import type { ListQuery } from '../contract.ts'
import { type RawRow, type Runner, rowOf, text } from '../postgres/statement.ts'
import { ACCESS, type Access, accessOf, requireAccess } from './access.ts'
import { constraints, NARROW_FILTERS, searchOf } from './conditions.ts'
import type { Entry, PageMemory, Selection } from './page-memory.ts'
import { pageStatement, reachOf, type Shape, type Way } from './page-statement.ts'

/**
 * The page of a query in the scope of a token, as plain OFFSET and count(*) find it in one snapshot of the present data.
 * An unknown token is looked up first, for the hints of its scope. Throws HttpError 401 or 400.
 */
export async function readPage(db: Runner, memory: PageMemory, tokenDigest: Uint8Array, query: ListQuery) {
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
) {
  const { sort, order, offset, page: limit, filter } = query
  const { filters, narrowed, values: constrained } = constraints(filter)
  const { organizations: ids } = constrained as { organizations?: string[] }
  const organizationCount = Math.min(ids?.length ?? organizations, organizations)
  const start: Entry = { from: 'start', skip: offset }
  const { from, skip } = hints?.nearest(orderOf(query), offset, limit) ?? start
  const place = typeof from === 'object' ? from : undefined
  const shape: Shape = {
    sort,
    order,
    way: wayOf(filters, organizationCount, skip + limit, hints),
    filters,
    narrowed,
    from: typeof from === 'object' ? 'place' : from,
    isCounted: hints === undefined,
    reach: reachOf(skip + limit),
  }
  const values = {
    token,
    scope,
    offset,
    limit,
    ...constrained,
    count: hints?.count,
    count_position: hints?.moment.position,
    count_tag: hints?.moment.tag,
    at: place?.offset,
    key: place?.key,
    id: place?.id,
    place_position: place?.moment.position,
    place_tag: place?.moment.tag,
  }
  const [row] = await pageStatement(shape)(db, values)
  if (!row) throw new Error('the page statement returned no row')
  return pageRow(row)
}

/** The first columns of a page statement. */
const token = rowOf(ACCESS)

/** The row of a page statement: one snapshot. */
function pageRow(row: RawRow) {
  const [isValid, count, position, tag, total, documents, size, key, id, ...shown] = row.slice(4)
  return {
    access: accessOf(token.read(row)),
    /** Whether the hints were valid; if not, the rest means nothing. */
    isValid: text(isValid) === 't',
    count: Number(text(count)),
    /** The newest change of that snapshot, to which hints from this row belong. */
    moment: { position: Number(text(position)), tag: text(tag) ?? '' },
    /** With a count: an estimate of all records by Postgres; -1 if it has none. */
    total: total ? Number(text(total)) : undefined,
    /** The documents, joined by commas. They stay bytes: decoding would take a tenth of the time of a page. */
    documents: documents ?? new Uint8Array(),
    /** How many documents. */
    size: Number(text(size)),
    /** The sort key and the id of the last of them; undefined on an empty page. */
    last: key && id ? { key: key.toString(), id: id.toString() } : undefined,
    /** The columns `disclosed`, for disclosureOf(). */
    shown,
  }
}

/** Organizations whose indexes are looked into one by one while the share of matching records is unknown. */
const FEW_ORGANIZATIONS = 16
/** Up to so many records for each that matches, the next match is near, and its document at hand. */
const MAX_PASSED = 3
/** Up to so many records found by a search are sorted at once. */
const MAX_SORTED = 5000
/** The cost of sorting a record, in index entries read. */
const SORTING = 2

/** The way to a page that ends `distance` records after its entry. Each gives the same page; a wrong one is slower. */
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
