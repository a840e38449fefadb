import type { Runner } from '../postgres/statement.ts'
import { sha256 } from '../random.ts'
import { constraints } from './conditions.ts'
import { type PageMemory, Selection } from './page-memory.ts'
import type { PageRow, Way } from './page-statement.ts'
import type { ListQuery } from './parameters.ts'
import { type PageRequest, selectPage, selectVersions } from './queries.ts'

/** Who asks, and what they may read (spec 1): ids as decimal strings, and the digest of them. */
export interface Reader {
  tokenDigest: Uint8Array
  organizationIds: string[]
  productIds: string[]
  scopeDigest: string
}

/** One page: how many records match, and the documents of the page, joined by commas, as UTF-8. */
export interface Page {
  count: number
  documents: Uint8Array
  size: number
  /** The digest of the scope that the reader's token had in the snapshot of the page; null if it was not live. */
  caller: string | null
}

/**
 * The page of the reader's scope that a query asks for, and the count beside it, as plain OFFSET and count(*)
 * would find them in one snapshot of the present data; the argument stands in page-memory.ts.
 * Undefined when the request and the scope have no organization or no product in common: nothing was asked.
 */
export async function readPage(
  db: Runner,
  memory: PageMemory,
  reader: Reader,
  query: ListQuery,
): Promise<Page | undefined> {
  const organizations = narrowed(reader.organizationIds, query.filter.organization_ids)
  const products = narrowed(reader.productIds, query.filter.product_ids)
  if (organizations.length === 0 || products.length === 0) return undefined

  const asked = constraints(query.filter)
  const filters = Object.keys(asked)
  const sets = { organizations: arrayText(organizations), products: arrayText(products) }
  const values = Object.assign({ token: reader.tokenDigest, ...sets }, ...Object.values(asked))
  const key = selectionKey(reader, query)
  const read = (known: Selection | undefined, asking = query) =>
    selectPage(db, { ...placeOf(asking, known), way: wayOf(organizations, filters, known), filters, values })

  let known = memory.recall(key)
  const recalled = known
  if (!known && query.offset >= FAR) {
    // To know the count first halves the way at least: the end may be nearer than the start.
    known = selectionOf(await read(undefined, { ...query, page: 0, offset: 0 }))
  }
  let row = await read(known)
  if (known && !(await held(db, known, row, sets.organizations))) {
    known = undefined
    row = await read(undefined)
  }
  memory.count(known !== undefined && known === recalled)
  known ??= selectionOf(row)
  if (row.edge_key !== null && row.edge_id !== null) {
    known.note(orderOf(query), query.offset + row.size, { key: row.edge_key, id: row.edge_id })
  }
  memory.remember(key, known)
  return { count: known.count, documents: row.documents, size: row.size, caller: row.caller }
}

/** From here on a page that nothing is known of is worth a count of its own before. */
const FAR = 10_000

/** Where a page is entered: behind the nearest remembered record, or from the end where that is nearer. */
function placeOf({ sort, order, offset, page }: ListQuery, known: Selection | undefined) {
  const start = known?.nearest(orderOf({ sort, order }), offset) ?? { offset: 0, edge: undefined }
  // To read on behind the last one would be to read all that do not match.
  const left = Math.max(0, (known?.count ?? Number.POSITIVE_INFINITY) - offset)
  const limit = Math.min(page, left)
  const forward = { after: start.edge, isBackward: false, skip: offset - start.offset }
  const backward = { after: undefined, isBackward: true, skip: left - limit }
  const place = limit > 0 && backward.skip < forward.skip ? backward : forward
  return { sort, order, ...place, limit, withCount: known === undefined } satisfies Partial<PageRequest>
}

/** Past this, looking into the index of each organization reads more than it spares. */
const FEW_ORGANIZATIONS = 16

/** Where at least one of so many records matches, the next one that matches is never far. */
const MOST = 3

function wayOf(organizations: string[], filters: string[], known: Selection | undefined): Way {
  if (filters.length > 0) return 'planned'
  if (known && known.total >= 0 && known.count * MOST >= known.total) return 'most'
  return organizations.length <= FEW_ORGANIZATIONS ? 'few' : 'planned'
}

const orderOf = ({ sort, order }: Pick<ListQuery, 'sort' | 'order'>) => `${sort} ${order}`

/** The facts that a page read without any has shown. */
function selectionOf({ version, count, total }: PageRow): Selection {
  return new Selection(BigInt(version), Number(count), total ?? -1)
}

/** Whether the facts held in the snapshot of the page that was read with them. */
async function held(db: Runner, known: Selection, row: PageRow, organizations: string): Promise<boolean> {
  const version = BigInt(row.version)
  return version === known.version || known.heldAt(version, await selectVersions(db, organizations))
}

/** Names the selection of a scope and filters. A digest: a key must be short, and hold nobody's name. */
function selectionKey({ scopeDigest }: Reader, { filter }: ListQuery): string {
  const asked = JSON.stringify(filter)
  return asked === '{}' ? scopeDigest : sha256(scopeDigest + asked).toString('base64')
}

/** An organization or product of the request that is not in the scope is not in the answer either. */
function narrowed(scope: string[], wanted: string[] | undefined): string[] {
  if (!wanted) return scope
  const set = new Set(wanted)
  return scope.filter(id => set.has(id))
}

const texts = new WeakMap<string[], string>()

/** Decimal ids as a bigint[]; a scope's are rendered once, and not with every request. */
function arrayText(ids: string[]): string {
  let known = texts.get(ids)
  if (known === undefined) {
    known = `{${ids.join()}}`
    texts.set(ids, known)
  }
  return known
}
