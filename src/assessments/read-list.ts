import { LRUCache } from 'lru-cache'
import type { ListQuery } from '../contract.ts'
import { type RawRow, type Runner, rawStatement, type Statement, text } from '../database/statement.ts'
import type { Access, AccessRow } from './access.ts'
import { isRecorded, type ShownIds } from './disclosure.ts'
import { isNarrow, type Values } from './filters.ts'
import { type Entry, List, START } from './list.ts'
import { COUNT, countSql, isByKept, PAGE, pageSql } from './list-sql.ts'
import type { PageMemory } from './page-memory.ts'
import type { Source } from './page-state.ts'
import type { Sets } from './scope.ts'
import { searchOf } from './search.ts'
import { type Counting, REACHES, type Reach, type Shape } from './shape.ts'

/** A page, as plain OFFSET and count(*) find it in one snapshot of the present data. */
export interface Page {
  access: Access
  /** Of the export, in the snapshot of the page. */
  version: string | null
  /** How many records match. */
  count: number
  /** The documents with commas between. They stay bytes: decoding would take a tenth of the time of a page. */
  documents: Uint8Array
  /** How many documents. */
  size: number
  /** Their ids, if disclosures are recorded. */
  shown: ShownIds
}

/** A server that pages are read from. */
export interface Reader {
  db: Runner
  memory: PageMemory
  source: Source
  /** The scope of the request, as it was last read. @throws HttpError 401 or 400 */
  scope(): Promise<{ access: Access; sets: Sets }>
  /** The values of its source. */
  values: Values
  /** Whether a row is of the scope that the request has read. @throws HttpError 401 or 400 if it is of none */
  hasScope(row: AccessRow, access: Access): boolean
}

/** A request for a page, as far as it is known before its statements. */
export interface PageRequest {
  reader: Reader
  query: ListQuery
  filters: string[]
  /** As last read. Each statement compares it. */
  access: Access
  /** The values of the reader, the scope, the two sets that are read, and the filters. */
  given: Values
  /** Whether kept counts are known to be wrong. */
  isExact: boolean
}

/**
 * Why there is no page.
 * - outdated: scope, version, or the recording of disclosures is another one than remembered.
 * - contradicted: the page has other records than its count says, after writes past the triggers.
 */
type NoPage = 'outdated' | 'contradicted'

/** What it takes to find records, in µs. Tests let a walk cost nothing, or more than anything. */
export const COSTS = {
  /** To gather the row of a match. */
  row: 1.5,
  /** To gather an entry of the index of organizations, which has all that a page is chosen by. */
  entry: 0.15,
  /** To sort a match that is gathered. */
  sorted: 0.4,
  /** To pass an entry of an index on a walk. */
  passed: 0.07,
}
/** A walk counts as one of so many records at least: those of a person, or of a proctor, stand together. */
const LEAST = 100
/** Documents are read on the way of a short walk, if nothing filters the list and it has a third of all records. */
const DENSE = 1 / 3
/** A walk with a search that finds a twentieth of all records looks at the person of each record. */
const OFTEN = 1 / 20
const reaches = Object.keys(REACHES).map(Number) as Reach[]
const [NEAR] = reaches

/** Counts a list; undefined if the token has another scope. */
export async function countList(request: PageRequest): Promise<List | undefined> {
  const { reader, given, access } = request
  const counting = countingOf(request)
  const [found] = await statementOf(counting, countSql, false)(reader.db, given)
  const row = COUNT.read(found)
  if (!reader.hasScope(row, access)) return undefined
  const number = (column: Buffer | null) => Number(text(column))
  const [count, all] = [number(row.count), Math.max(number(row.all), number(row.count))]
  const [ofScope, ofOrganizations] = [number(row.ofScope), number(row.ofOrganizations)]
  return new List({
    version: text(row.version),
    isRecorded: isRecorded(row.recording, access.clientId),
    isProven: !isByKept(counting),
    ...{ count, ofScope, ofOrganizations, all },
    ofProducts: row.ofProducts ? number(row.ofProducts) : all,
  })
}

/** Reads a page of a list: gathered, or from its nearest cursor or end. */
export async function rememberedPage(request: PageRequest, list: List): Promise<Page | NoPage> {
  const { reader, query, given, access } = request
  const { count, version } = list
  const offset = Math.min(query.offset, count)
  const shown = Math.min(query.page, count - offset)
  // One record more tells whether the list ends here. An empty page need not ask again.
  const looksFurther = query.offset + query.page >= count && (shown > 0 || !list.isProven)
  const nearest = list.nearest(query, offset, shown, looksFurther)
  const way = wayOf(request.filters, list, nearest, shown)
  const entry = way === 'walked' ? nearest : { ...START, skip: offset }
  const size = looksFurther && !entry.isBackward ? shown + 1 : shown
  const skip = size > 0 ? entry.skip : 0
  const shape = shapeOf(request, list, way, { ...entry, skip }, size, looksFurther)
  const [found] = await statementOf(
    shape,
    pageSql,
    shape.membership !== 'planned',
  )(reader.db, {
    ...{ ...given, version, size, skip },
    ...{ key: entry.cursor?.key, id: entry.cursor?.id },
  })
  const row = PAGE.read(found)
  if (!reader.hasScope(row, access)) return 'outdated'
  const isOn = isRecorded(row.recording, access.clientId)
  if (version === null || text(row.version) !== version || isOn !== list.isRecorded) return 'outdated'
  if (Number(text(row.size)) !== shown) return 'contradicted'
  if (size > shown) list.isProven = true
  const [key, id] = [text(row.lastKey), text(row.lastId)]
  if (!isNarrow(request.filters) && key !== null && id !== null)
    list.noteCursor(query, { offset: offset + shown, key, id })
  return pageOf(request, count, row, isOn)
}

/** Reads a page whose list is counted by the same statement. @param like the last known state of the list, for estimates */
export async function countedPage(request: PageRequest, like: List): Promise<Page | NoPage> {
  const { query, given, access, reader } = request
  const { offset, page } = query
  const entry = { ...START, skip: offset > like.count ? FAR : offset }
  const way = wayOf(request.filters, like, { ...entry, skip: Math.min(offset, like.count) }, page)
  // A page that reaches the count reads one record more. The ids are read in any case: the switch of disclosures may be
  // turned at this moment.
  const shape = {
    ...shapeOf(request, { ...like, isRecorded: true }, way, entry, page + 1, true),
    membership: 'planned' as const,
    counting: countingOf(request),
  }
  const [found] = await statementOf(shape, pageSql, false)(reader.db, { ...given, size: page, skip: offset })
  const row = PAGE.read(found)
  if (!reader.hasScope(row, access)) return 'outdated'
  const isOn = isRecorded(row.recording, access.clientId)
  const count = Number(text(row.count))
  if (Number(text(row.size)) !== Math.max(0, Math.min(page, count - offset))) return 'contradicted'
  return pageOf(request, count, row, isOn)
}

/** Skips more than any list has: then a walk has no limit. */
const FAR = 1e9 - 1000

function pageOf(
  { access }: PageRequest,
  count: number,
  row: ReturnType<typeof PAGE.read>,
  isOn: boolean,
): Page {
  return {
    access,
    version: text(row.version),
    count,
    documents: row.documents ?? new Uint8Array(),
    size: Number(text(row.size)),
    shown: isOn
      ? { assessments: text(row.assessments), people: text(row.people) }
      : { assessments: null, people: null },
  }
}

const countingOf = ({ reader: { source }, filters, isExact }: PageRequest): Counting => ({
  source,
  filters,
  isExact,
})

/** The text of a page: for an entry, and as many records as are read. */
function shapeOf(
  { reader: { source }, query, filters, isExact }: PageRequest,
  list: Sizes & Pick<List, 'isRecorded'>,
  way: Way,
  { cursor, isBackward, skip }: Entry,
  size: number,
  looksFurther: boolean,
): Shape {
  const { sort, order, filter } = query
  const reach = reaches.find(reach => skip + size <= reach) ?? 1e9
  const isPlanned = filters.length > 0 || (way === 'walked' && reach !== NEAR)
  const isNarrowed = filter.organization_ids !== undefined || filter.product_ids !== undefined
  const isDense = way === 'walked' && !isPlanned && !isNarrowed && list.count >= list.all * DENSE
  return {
    ...{ source, sort, order, filters, isBackward, reach },
    way: isDense ? 'dense' : way,
    membership: isPlanned ? 'planned' : isDense ? 'searched' : 'hashed',
    isByProduct: isByProduct(list),
    isEach: list.count >= list.all * OFTEN,
    hasCursor: cursor !== undefined,
    // Its bounds believe that a product has one sort key. Writes past the triggers may have left several.
    isBounded: sort === 'product_name' && !isExact && (cursor === undefined || looksFurther),
    isRecorded: list.isRecorded,
  }
}

/** How many records match, and how many lead to them. */
type Sizes = Pick<List, 'count' | 'ofScope' | 'ofOrganizations' | 'ofProducts' | 'all'>

type Way = Shape['way']

/** How the records of a page are found: as costs least. @param entry where a walk begins @param size of the page */
function wayOf(filters: string[], list: Sizes, entry: Entry, size: number): Way {
  if (isNarrow(filters)) return searchOf(filters) ? 'gathered in scope' : 'gathered'
  const { count, ofScope, ofOrganizations, ofProducts, all } = list
  // As many records are passed for each that is skipped or read as there are for each that matches.
  const walking = (COSTS.passed * Math.max(LEAST, entry.skip + size) * all) / count
  const ofSets = isByProduct(list) ? COSTS.row * ofProducts : COSTS.entry * ofOrganizations
  const gathering = (filters.length > 0 ? COSTS.row * count : ofSets) + COSTS.sorted * count
  if (gathering > walking) return 'walked'
  // The people that a search finds have records everywhere: as many for each match as there are for each of the scope.
  const isOfFew = searchOf(filters) && 2 * ofScope < (count / ofScope) * all
  return isOfFew ? 'gathered in scope' : 'gathered'
}

/** Whether the products lead to the records of the scope at less cost than the organizations. */
const isByProduct = ({ ofOrganizations, ofProducts }: Sizes) =>
  COSTS.row * ofProducts < COSTS.entry * ofOrganizations

/** Filters make 24,000 texts. */
const statements = new LRUCache<string, Statement<Values, RawRow>>({ max: 1000 })

/** The statement of a shape. The texts of short pages without filters are few, and prepared. Others are planned for their values. */
function statementOf<Of extends object>(
  shape: Of,
  sqlOf: (shape: Of) => ReturnType<typeof pageSql>,
  isPrepared: boolean,
): Statement<Values, RawRow> {
  const key = JSON.stringify(shape)
  const known = statements.get(key)
  if (known) return known
  const statement = rawStatement<Values>(sqlOf(shape), isPrepared)
  statements.set(key, statement)
  return statement
}
