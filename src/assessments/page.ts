import { LRUCache } from 'lru-cache'
import type { ListQuery } from '../contract.ts'
import type { RequestBounds } from '../database/bounds.ts'
import { type RawRow, type Runner, rawStatement, type Statement, text } from '../database/statement.ts'
import { type Access, accessOf, requireAccess } from './access.ts'
import { isRecorded, type ShownIds } from './disclosure.ts'
import { constraints, isSearch, LIMITS, namesPeople, narrowed, type Sets, type Values } from './filters.ts'
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
export interface Scope {
  access: Access
  sets: Sets
}

/** A server that pages are read from, for one request. */
export interface Reader {
  db: Runner
  memory: PageMemory
  source: Shape['source']
  /** The values of the source. */
  values: Values
  /** The scope of the request. @param access that of its token, as a statement has just found it. @throws HttpError 401 or 400 */
  scope(access?: Access): Promise<Scope>
}

/** What one statement has brought. If it has no page, and nothing says why, the remembered list is outdated. */
interface Attempt {
  page?: Page
  /** What is known of the list by now. */
  list?: List | undefined
  /** The access of the token, if it has another scope than the request has read. */
  access?: Access
  /** Whether the page has other records than its count says, after writes past the triggers. */
  isContradicted?: boolean
}

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
  const scope: Reader['scope'] = async (access = memory.accessOf(tokenDigest)) => {
    const sets = access && memory.setsOf(access.scopeDigest)
    const read = sets ? { access, sets } : await requireAccess(db, tokenDigest)
    memory.noteAccess(tokenDigest, read.access)
    memory.noteSets(read.access.scopeDigest, read.sets)
    return read
  }
  return readPageBy({ db, memory, source: 'token', values: { tokenDigest }, scope }, query, bounds)
}

/**
 * A page is one statement. That of a list that is remembered reads nothing if the scope or the version is another one by now:
 * then the list is forgotten, and the page is read again. That of any other list counts it, too.
 */
export async function readPageBy(reader: Reader, query: ListQuery, bounds: RequestBounds): Promise<Page> {
  const { memory } = reader
  const request: PageRequest = { reader, query, scope: await reader.scope(), isExact: false }
  for (let outdated = 0; ; ) {
    const key = listKey(request.scope.access.scopeDigest, query.filter)
    const isOwn = request.isExact || outdated === MAX_OUTDATED
    const attempt = isOwn
      ? await readOnce(request)
      : await memory.read(key, known => readOnce(request, known), bounds)
    if (isOwn) memory.note(key, attempt.list)
    if (attempt.page) return attempt.page
    if (attempt.access) request.scope = await reader.scope(attempt.access)
    else if (attempt.isContradicted) request.isExact = true
    else outdated++
  }
}

interface PageRequest {
  reader: Reader
  query: ListQuery
  scope: Scope
  /** Whether the counts that writers keep are known to be wrong: then the records are counted. */
  isExact: boolean
}

/** Reads a page by one statement. @param known the list, if it is remembered */
async function readOnce(request: PageRequest, known?: List): Promise<Attempt> {
  const { reader, query, scope } = request
  const { filters, values } = constraints(query.filter)
  const offset = Math.min(query.offset, known?.count ?? query.offset)
  const size = Math.min(query.page, known ? known.count - offset : query.page)
  const cursor = known?.cursorBefore(query, offset)
  const skip = offset - (cursor?.offset ?? 0)
  const shape = shapeOf(request, filters, { offset, end: offset + size, cursor, skip }, known)
  const [found] = await statementOf(shape)(reader.db, {
    ...reader.values,
    ...narrowed(scope.sets, query.filter),
    ...values,
    scopeDigest: scope.access.scopeDigest,
    version: known?.version,
    few: LIMITS.few,
    key: cursor?.key,
    id: cursor?.id,
    skip,
    size,
    // One record more tells whether the count is right. Past the end of a list, it is looked for only near a cursor.
    limit: size > 0 || skip < NEAR ? size + 1 : 0,
  })
  return attemptOf(request, PAGE.read(found), offset, known)
}

/** The text of a page that begins at `offset`, `skip` records behind its cursor, and ends at `end`. */
function shapeOf(
  { reader, query, isExact }: PageRequest,
  filters: string[],
  { offset, end, cursor, skip }: { offset: number; end: number; cursor: Cursor | undefined; skip: number },
  known: List | undefined,
): Shape {
  // A page that begins far behind is one of a long list.
  const isLong = !namesPeople(filters) && (known?.count ?? offset) > LIMITS.few
  const isPrepared = isLong && known !== undefined && filters.length === 0 && skip < NEAR
  return {
    source: reader.source,
    sort: query.sort,
    order: query.order,
    filters,
    count: known ? 'remembered' : filters.length === 0 && !isExact ? 'kept' : 'records',
    way: isLong ? 'walked' : !known && isSearch(filters) ? 'either' : 'found',
    hasCursor: cursor !== undefined,
    // Where the page begins at the start of the list, or comes to its end. After writes past the triggers, the records of a
    // product may have several names.
    isWithinNames: query.sort === 'product_name' && !isExact && !(cursor && known && end < known.count),
    isPrepared,
    readsDocuments: isPrepared && known.hasMost,
  }
}

/** What the row of a page says. @param offset where it begins */
function attemptOf(
  { query, scope, isExact }: PageRequest,
  row: ReturnType<typeof PAGE.read>,
  offset: number,
  known: List | undefined,
): Attempt {
  const access = accessOf(row)
  if (access.scopeDigest !== scope.access.scopeDigest) return { access }
  const version = text(row.version)
  if (known && known.version !== version) return {}
  const list = known ?? new List(version, Number(text(row.count)), isTrue(row.hasMost))
  const end = offset + Number(text(row.size))
  const isRight =
    end === Math.max(offset, Math.min(offset + query.page, list.count)) &&
    isTrue(row.goesOn) === end < list.count
  if (!isRight && !isExact) return { isContradicted: true }
  const [key, id] = [text(row.lastKey), text(row.lastId)]
  if (key !== null && id !== null) list.noteCursor(query, { offset: end, key, id })
  const { documents, assessments, people } = row
  const page = {
    access,
    version,
    count: list.count,
    documents: documents ?? new Uint8Array(),
    size: end - offset,
    shown: isRecorded(row.recording, access.clientId)
      ? { assessments: text(assessments), people: text(people) }
      : undefined,
  }
  // Without a version nobody knows when the list is another one.
  return { page, list: version === null ? undefined : list }
}

const isTrue = (column: Buffer | null): boolean => text(column) === 't'

const statements = new LRUCache<string, Statement<Values, RawRow>>({ max: 1000 })

/** The compiled statement of a shape. Filters make thousands of texts. */
function statementOf(shape: Shape): Statement<Values, RawRow> {
  const key = JSON.stringify(shape)
  const known = statements.get(key) ?? rawStatement<Values>(pageSql(shape), shape.isPrepared)
  statements.set(key, known)
  return known
}
