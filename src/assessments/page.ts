import type { DisclosedRecords } from '../answers.ts'
import type { ListQuery } from '../contract.ts'
import type { Runner } from '../postgres/statement.ts'
import { type RawRow, text } from '../postgres/statement.ts'
import { type Access, accessOf, requireAccess } from './access.ts'
import { constraints, isBigint, NARROW_FILTERS } from './conditions.ts'
import type { Entry, Moment, PageMemory, Selection } from './page-memory.ts'
import { pageStatement, reachOf, type Shape, type Way } from './page-statement.ts'
import { SCOPE_SETS } from './scope.ts'
import { searchOf } from './search.ts'

/** The row of a page statement: one snapshot. */
export interface PageRow {
  access: Access
  /** Whether the hints were valid; if not, the rest means nothing. */
  isValid: boolean
  count: number
  /** The newest change of that snapshot, to which hints from this row belong. */
  moment: Moment
  /** With a count: an estimate of all records by Postgres; -1 if it has none. */
  total: number | undefined
  /** The documents of the page, joined by commas: UTF-8, as it is sent. */
  documents: Uint8Array
  /** How many documents. */
  size: number
  /** The sort key and the id of the last of them; undefined on an empty page. */
  last: { key: string; id: string } | undefined
  /** The records and educators to be recorded, while disclosures are recorded. */
  disclosed: Pick<DisclosedRecords, 'assessments' | 'people'> | undefined
}

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
  const start: Entry = { from: 'start', skip: offset }
  const { from, skip } = hints?.nearest(orderOf(query), offset, limit) ?? start
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
  Object.assign(values, ...Object.values(constrained))
  const [row] = await pageStatement(shape)(db, values)
  if (!row) throw new Error('the page statement returned no row')
  return pageRow(row)
}

function pageRow(row: RawRow): PageRow {
  // The documents stay bytes: decoding them would take a tenth of the time of a page.
  const [isValid, count, position, tag, total, documents, ...rest] = row.slice(4)
  const [size, key, id, assessments, people] = rest.map(text)
  return {
    access: accessOf(row),
    isValid: text(isValid) === 't',
    count: Number(text(count)),
    moment: { position: Number(text(position)), tag: text(tag) ?? '' },
    total: total == null ? undefined : Number(text(total)),
    documents: documents ?? new Uint8Array(),
    size: Number(size),
    last: key == null || id == null ? undefined : { key, id },
    disclosed: disclosedRecords(assessments, people),
  }
}

/** The columns `disclosed` of a row: null where disclosures are not recorded. */
export function disclosedRecords(assessments?: string | null, people?: string | null): PageRow['disclosed'] {
  return assessments == null || people == null ? undefined : { assessments, people }
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
