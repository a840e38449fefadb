import { LRUCache } from 'lru-cache'
import type { ListQuery } from '../contract.ts'
import type { RequestBounds } from '../database/bounds.ts'
import { type RawRow, type Runner, rawStatement, type Statement, text } from '../database/statement.ts'
import { type Access, accessOf, type Granted, requireAccess } from './access.ts'
import { isRecorded, type ShownIds } from './disclosure.ts'
import {
  type Constraint,
  constraints,
  isSearch,
  isShortSearch,
  LIMITS,
  namesPeople,
  narrowed,
  type Values,
} from './filters.ts'
import { type Cursor, List } from './list.ts'
import { listKey, type PageMemory } from './page-memory.ts'
import { PAGE, pageSql, type Shape } from './page-sql.ts'

/** A page, as plain OFFSET and count(*) find it in one snapshot of the present data. */
export interface Page {
  access: Access
  /** Of the export, in the snapshot of the page. Null if somebody has deleted its row. */
  version: string | null
  /** How many records match. */
  count: number
  /** The documents with commas between. They stay bytes: decoding would take a tenth of the time of a page. */
  documents: Uint8Array
  /** How many documents. */
  size: number
  /** Their ids, if disclosures are recorded. */
  shown: ShownIds | undefined
}

/** The access of a request, and the sets of its scope. */
type Scope = Pick<Granted, 'access' | 'sets'>

/** A server that pages are read from, for one request. */
export interface Reader {
  db: Runner
  memory: PageMemory
  source: Shape['source']
  /** The values of the source. */
  values: Values
  /** The scope of the request. @param access that of its token, as a statement has just found it. @throws HttpError 401 or 400 */
  scopeOf(access?: Access): Promise<Scope>
}

/** What one statement has brought, and what is known of the list then; nothing if what was known is wrong. */
type Attempt =
  | { page: Page; list: List | undefined }
  /** The token has another scope than the request has read. */
  | { access: Access; list: List | undefined }
  /** The export has another version than the list; or, after writes past the triggers, the page not the records of its count. */
  | { wrong: 'version' | 'count'; list?: undefined }

/** So many remembered lists may be outdated before a request counts its list itself, whatever version it finds. */
const MAX_OUTDATED = 2

/** A page begins near its cursor if fewer records are skipped. */
const NEAR = 1000

/** A request with a token, which its statement checks. */
export interface ApiRequest {
  db: Runner
  memory: PageMemory
  tokenDigest: string
  bounds: RequestBounds
}

/** Reads a page in the scope of a token. @throws HttpError 401 or 400, and what the database throws */
export function readPage({ db, memory, tokenDigest, bounds }: ApiRequest, query: ListQuery): Promise<Page> {
  async function scopeOf(access = memory.accessOf(tokenDigest)): Promise<Scope> {
    const sets = access && memory.setsOf(access.scopeDigest)
    const scope = sets ? { access, sets } : await requireAccess(db, tokenDigest)
    memory.noteAccess(tokenDigest, scope.access)
    memory.noteSets(scope.access.scopeDigest, scope.sets)
    return scope
  }
  return readPageBy({ db, memory, source: 'token', values: { tokenDigest }, scopeOf }, query, bounds)
}

/**
 * A page is one statement. That of a list that is remembered reads nothing if the scope or the version is another one by now:
 * then the list is forgotten, unless another request has replaced it, and the page is read again. That of any other list
 * counts it, too.
 */
export async function readPageBy(reader: Reader, query: ListQuery, bounds: RequestBounds): Promise<Page> {
  const { memory } = reader
  const request: PageRequest = { reader, query, scope: await reader.scopeOf(), countsRecords: false }
  for (let outdated = 0; ; ) {
    const key = listKey(request.scope.access.scopeDigest, query.filter)
    const countsAlone = request.countsRecords || outdated === MAX_OUTDATED
    const attempt = countsAlone
      ? await readOnce(request)
      : await memory.read(key, known => readOnce(request, known), bounds)
    if (countsAlone) memory.note(key, attempt.list)
    if ('page' in attempt) return attempt.page
    if ('access' in attempt) request.scope = await reader.scopeOf(attempt.access)
    else if (attempt.wrong === 'count') request.countsRecords = true
    else outdated++
  }
}

interface PageRequest {
  reader: Reader
  query: ListQuery
  scope: Scope
  /** Whether the count of the list was wrong. Then the records are counted, whatever is remembered or kept. */
  countsRecords: boolean
}

/** Reads a page by one statement. @param known the list, if it is remembered */
async function readOnce(request: PageRequest, known?: List): Promise<Attempt> {
  const { reader, query, scope } = request
  const { filters, values } = constraints(query.filter)
  const offset = Math.min(query.offset, known?.count ?? query.offset)
  const size = Math.min(query.page, known ? known.count - offset : query.page)
  const cursor = known?.cursorBefore(query, offset)
  const skip = offset - (cursor?.offset ?? 0)
  const shape = shapeOf(request, filters, { offset, lastEnd: offset + size, skip }, cursor, known)
  const statement = statements.memo(JSON.stringify(shape))
  const [fields] = await statement(reader.db, {
    ...reader.values,
    ...narrowed(scope.sets, query.filter),
    ...values,
    scopeDigest: scope.access.scopeDigest,
    version: known?.version,
    mostSorted: LIMITS.sorted,
    key: cursor?.key,
    id: cursor?.id,
    skip,
    size,
    // One record more tells whether the count is right. Past the end of a list, it is looked for only near a cursor.
    limit: size === 0 && skip >= NEAR ? 0 : size + 1,
  })
  return attemptOf(request, PAGE.read(fields), offset, known)
}

/** The text of a page that begins at `offset`, `skip` records behind its cursor, and ends at `lastEnd` at the latest. */
function shapeOf(
  { reader, query, countsRecords }: PageRequest,
  filters: Constraint[],
  { offset, lastEnd, skip }: { offset: number; lastEnd: number; skip: number },
  cursor: Cursor | undefined,
  known: List | undefined,
): Shape {
  // A page that begins far behind is one of a long list, or past the end.
  const isLong = !namesPeople(filters) && (known?.count ?? offset) > LIMITS.sorted
  const { organization_ids, product_ids } = query.filter
  const isNarrowed = filters.length > 0 || organization_ids !== undefined || product_ids !== undefined
  const endsInside = cursor !== undefined && known !== undefined && lastEnd < known.count
  return {
    source: reader.source,
    sort: query.sort,
    order: query.order,
    filters,
    count: known ? 'remembered' : filters.length === 0 && !countsRecords ? 'kept' : 'records',
    way: isLong ? 'walked' : !known && isSearch(filters) ? 'either' : 'found',
    isShortSearch: isShortSearch(query.filter),
    hasCursor: cursor !== undefined,
    // The names bound a page that has no cursor, or may run past the last record. After a wrong count a product may have
    // several names, by writes past the triggers.
    isWithinNames: query.sort === 'product_name' && !countsRecords && !endsInside,
    isOfMost: isLong && known?.hasMost === true && !isNarrowed && skip < NEAR,
  }
}

/** What the row of a page says. @param offset where it begins */
function attemptOf(
  { query, scope, countsRecords }: PageRequest,
  row: ReturnType<typeof PAGE.read>,
  offset: number,
  known: List | undefined,
): Attempt {
  const access = accessOf(row)
  if (access.scopeDigest !== scope.access.scopeDigest) return { access, list: known }
  const version = text(row.version)
  if (known && known.version !== version) return { wrong: 'version' }
  const list = known ?? new List(version, Number(text(row.count)), isTrue(row.hasMost))
  const end = offset + Number(text(row.size))
  const isRight =
    end === Math.max(offset, Math.min(offset + query.page, list.count)) &&
    isTrue(row.goesOn) === end < list.count
  if (!isRight && !countsRecords) return { wrong: 'count' }
  const [key, id] = [text(row.lastKey), text(row.lastId)]
  if (key !== null && id !== null) list.noteCursor(query, { offset: end, key, id })
  const { documents, assessments, people } = row
  const shown = { assessments: text(assessments), people: text(people) }
  const page = {
    access,
    version,
    count: list.count,
    documents: documents ?? new Uint8Array(),
    size: end - offset,
    shown: isRecorded(row.recording, access.clientId) ? shown : undefined,
  }
  // Without a version nobody knows when the list is another one.
  return { page, list: version === null ? undefined : list }
}

const isTrue = (column: Buffer | null): boolean => text(column) === 't'

/** The compiled statements by their shapes as JSON. Filters make thousands of texts. */
const statements = new LRUCache<string, Statement<Values, RawRow>>({
  max: 1000,
  memoMethod: key => {
    const shape = JSON.parse(key) as Shape
    return rawStatement<Values>(pageSql(shape), shape.isOfMost)
  },
})
