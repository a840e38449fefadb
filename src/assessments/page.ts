import type { Part } from '../answers.ts'
import type { ListQuery } from '../contract.ts'
import type { Lease, Leases } from '../postgres/statement.ts'
import { type Access, accessOf, requireAccess } from './access.ts'
import { readChanges } from './changes.ts'
import { type Constraints, constraints } from './conditions.ts'
import { countMatches, isKeptCount, readSpread, type Sets } from './count.ts'
import type { Entry } from './cursor.ts'
import { isRecorded, type Shown } from './disclosure.ts'
import type { Mark } from './mark.ts'
import { type PageMemory, Selection } from './page-memory.ts'
import { type Piece, readPiece } from './page-piece.ts'
import { corrected, type Extent, extentOf, offsetOf, type Run, runsOf } from './page-plan.ts'
import { readSets, readState } from './state.ts'
import { type Way, wayOf } from './ways.ts'

/** A page, as plain OFFSET and count(*) find it in one snapshot of the present data. */
export interface Page {
  access: Access
  /** How many records match. */
  count: number
  /** The documents with commas between, in pieces. They stay bytes: decoding would take a tenth of the time of a page. */
  documents: Part[]
  /** How many documents. */
  size: number
  /** Their ids, if disclosures are recorded. */
  shown: Shown[]
}

/** A request for a page, on its connection. */
interface PageRequest {
  lease: Lease
  memory: PageMemory
  token: Uint8Array
  query: ListQuery
  constrained: Constraints
  /** The access that the token had when it was last seen. */
  known: Access
}

/**
 * Reads a page of a query in the scope of a token: from what is remembered, if one statement finds that it still holds;
 * otherwise in a snapshot, where it is corrected, or the records are counted. Throws HttpError 401 or 400.
 */
export async function readPage(
  db: Leases,
  memory: PageMemory,
  token: Uint8Array,
  query: ListQuery,
): Promise<Page> {
  return await db.lease(async lease => {
    const known = memory.accessOf(token) ?? (await requireAccess(lease, token))
    const request = { lease, memory, token, query, constrained: constraints(query.filter), known }
    const fresh = await freshPage(request)
    if (fresh) return fresh
    // The statement of the fresh page may have found another scope.
    request.known = memory.accessOf(token) ?? known
    // If the count that writers keep contradicts the records, the records are counted.
    const page = (await snapshotPage(request)) ?? (await snapshotPage(request, true))
    if (!page) throw new Error('the count of a snapshot contradicts its records')
    return page
  })
}

/** Reads a page from what is remembered; undefined if nothing is, if it no longer holds, or if the page contradicts it. */
async function freshPage(request: PageRequest): Promise<Page | undefined> {
  const { lease, memory, token, known } = request
  const remembered = recall(request)
  if (!remembered) return undefined
  const { count, mark, entry, extent } = remembered
  const [run = NO_RUN] = runsOf(entry, offsetOf(entry, count), extent)
  const guard = { scope: known.scope, mark }
  const listing = { ...request, isRecorded: memory.isRecorded }
  const piece = await readPiece(lease, listing, entry, run, wayTo(request, remembered, run), guard)
  const access = accessOf(piece.access)
  memory.noteAccess(token, access)
  if (!piece.isFresh) return undefined
  return pageOf(request, access, { ...remembered, mark: piece.mark, isNew: false }, [piece])
}

/** The statement of a page that shows nothing still asks whether what is remembered holds. */
const NO_RUN: Run = { side: 'after', skip: 0, size: 0 }

/**
 * Reads a page in one snapshot; undefined if the count contradicts the records.
 * @param isExact whether the records are counted, whatever is remembered, and even if writers keep their number
 */
async function snapshotPage(request: PageRequest, isExact = false): Promise<Page | undefined> {
  const { lease, memory, token, query, constrained, known } = request
  const remembered = isExact ? undefined : recall(request)
  lease.begin()
  const [state, changes, sets] = await Promise.all([
    readState(lease, token),
    remembered && readChanges(lease, token, query, constrained, remembered),
    remembered ? undefined : readSets(lease, token, constrained),
  ])
  const access = await orCommit(lease, () => accessOf(state.access))
  const isOn = await orCommit(lease, () => isRecorded(state.recording, access.clientId))
  memory.noteAccess(token, access)
  memory.isRecorded = isOn

  const isSameScope = access.scope === known.scope
  const now = remembered && changes && isSameScope ? corrected(remembered, changes) : undefined
  const list = remembered && now ? { ...remembered, ...now } : await countAnew(request, sets, isExact)
  const { selection, entry, count, at } = list
  const { isKept, knowsEnd } = selection
  const extent = extentOf(query.offset, query.page, { count, isKept, knowsEnd })
  const listing = { ...request, sets: list.sets, isRecorded: isOn }
  const reading = runsOf(entry, at, extent).map(run =>
    readPiece(lease, listing, entry, run, wayTo(request, { selection, count, entry, extent }, run)),
  )
  const [pieces] = await Promise.all([Promise.all(reading), lease.commit()])
  return pageOf(request, access, { selection, count, entry, extent, mark: state.mark, isNew: !now }, pieces)
}

/** Checks what a transaction has read. An error ends the transaction, and leaves its connection to others. */
async function orCommit<Result>(lease: Lease, check: () => Result): Promise<Result> {
  try {
    return check()
  } catch (error) {
    await lease.commit()
    throw error
  }
}

/** The list of a request, and the entry to its page. */
interface List {
  selection: Selection
  count: number
  entry: Entry
  extent: Extent
}

/** What is remembered of the list of a request, as it is now: another request may change the selection. */
function recall({ memory, known, query }: PageRequest): (List & { mark: Mark; sets?: Sets }) | undefined {
  const selection = memory.selectionOf(known.scope, query.filter)
  if (!selection) return undefined
  const { count, mark } = selection
  const extent = extentOf(query.offset, query.page, selection)
  return { selection, count, mark, entry: selection.nearest(orderOf(query), extent), extent }
}

/** Counts the records of a list of which nothing is remembered. */
async function countAnew(request: PageRequest, known: Sets | undefined, isExact: boolean) {
  const { lease, token, query, constrained } = request
  const { filters, values } = constrained
  const sets = known ?? (await readSets(lease, token, constrained))
  const isCounted = isExact || filters.length > 0
  const [spread, counted] = await Promise.all([
    readSpread(lease, sets),
    isCounted ? countMatches(lease, sets, filters, values, isExact) : undefined,
  ])
  const count = counted ?? spread.records
  const selection = new Selection(count, isKeptCount(filters) && !isExact, spread)
  const entry = selection.nearest(orderOf(query), extentOf(query.offset, query.page, selection))
  return { selection, count, entry, at: offsetOf(entry, count), sets }
}

/** The way to the records of a run. */
function wayTo(
  { query, constrained }: PageRequest,
  { selection, count, entry, extent }: List,
  run: Run,
): Way {
  const isAtEnd = typeof entry !== 'object' || extent.read > extent.shown
  const distance = run.skip + run.size
  const { spread } = selection
  return wayOf({ sort: query.sort, filters: constrained.filters, spread, count, distance, isAtEnd })
}

/** What was found of a list in the snapshot of its page. */
interface Found extends List {
  mark: Mark | undefined
  /** Whether the selection was made for this page. */
  isNew: boolean
}

/** Makes the page of what was read, and remembers its count and where it ended. Undefined if they contradict each other. */
function pageOf(
  { memory, query }: PageRequest,
  access: Access,
  { selection, count, entry, extent, mark, isNew }: Found,
  pieces: Piece[],
): Page | undefined {
  const size = pieces.reduce((sum, piece) => sum + piece.size, 0)
  if (size !== extent.shown) return undefined
  if (mark) {
    memory.notePage(access.scope, query.filter, selection, { count, mark, isNew })
    // A page that is read from the end does not look further.
    if (extent.read > extent.shown && entry !== 'end') selection.noteEnd()
    const last = pieces.at(-1)?.last
    if (last) selection.noteCursor(orderOf(query), { offset: query.offset + size, ...last, mark })
  }
  const full = pieces.filter(piece => piece.size > 0)
  const documents = full.flatMap((piece, index) => (index > 0 ? [',', piece.documents] : [piece.documents]))
  return { access, count, documents, size, shown: pieces.map(piece => piece.shown) }
}

const orderOf = ({ sort, order }: ListQuery) => `${sort} ${order}`
