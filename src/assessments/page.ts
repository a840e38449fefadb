import type { ListQuery } from '../contract.ts'
import type { Lease, Leases } from '../postgres/statement.ts'
import { type Access, accessOf, requireAccess } from './access.ts'
import { type Constraints, constraints } from './conditions.ts'
import { countMatches, isKeptCount, readSpread, type Sets } from './count.ts'
import type { Entry } from './cursor.ts'
import { isRecorded, type Shown } from './disclosure.ts'
import type { Mark } from './mark.ts'
import { type PageMemory, Selection } from './page-memory.ts'
import { type Piece, readPiece } from './page-piece.ts'
import { areSame, corrected, type Extent, extentOf, offsetOf, type Run, runOf, shifted } from './page-plan.ts'
import { readSets, readState } from './state.ts'
import { type Way, wayOf } from './ways.ts'

/** A page, as plain OFFSET and count(*) find it in one snapshot of the present data. */
export interface Page {
  access: Access
  /** How many records match. */
  count: number
  /** The documents with commas between. They stay bytes: decoding would take a tenth of the time of a page. */
  documents: Uint8Array
  /** How many documents. */
  size: number
  /** Their ids, if disclosures are recorded. */
  shown: Shown
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

/** A page that is planned from what is remembered may meet a change that moves it. The next plan knows of the change. */
const MAX_PLANS = 3

/**
 * Reads a page of a query in the scope of a token: from what is remembered, by one statement that corrects it; otherwise
 * in a snapshot in which the records are counted. Throws HttpError 401 or 400.
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
    for (let plan = 1; plan <= MAX_PLANS; plan++) {
      const page = await rememberedPage(request)
      if (page === 'unknown') break
      if (page !== 'moved') return page
    }
    // If the count that writers keep contradicts the records, the records are counted.
    const page = (await snapshotPage(request)) ?? (await snapshotPage(request, true))
    if (!page) throw new Error('the count of a snapshot contradicts its records')
    return page
  })
}

/**
 * Reads a page from what is remembered. moved: a change has moved the page, and is remembered now. unknown: nothing is
 * remembered, it cannot be corrected, or the page contradicts it.
 */
async function rememberedPage(request: PageRequest): Promise<Page | 'moved' | 'unknown'> {
  const { lease, memory, token, query, known } = request
  const remembered = recall(request)
  if (!remembered) return 'unknown'
  const { selection, count, mark, entry, extent, isKept, knowsEnd } = remembered
  const run = runOf(entry, offsetOf(entry, count), extent)
  if (!run) throw new Error('a page has records on both sides of its entry')
  const listing = { ...request, isRecorded: memory.isRecorded }
  const way = wayTo(request, remembered, run)
  const piece = await readPiece(lease, listing, entry, run, way, { scope: known.scope, mark })
  const access = accessOf(piece.access)
  memory.noteAccess(token, access)
  const now = piece.isKnown && piece.mark ? corrected(remembered, piece.changes) : undefined
  if (!now || !piece.mark) return 'unknown'
  const extentNow = extentOf(query.offset, query.page, { count: now.count, isKept, knowsEnd })
  if (areSame(shifted(run, piece.changes), runOf(entry, now.at, extentNow))) {
    const found = { selection, count: now.count, entry, extent: extentNow, mark: piece.mark, isNew: false }
    return pageOf(request, access, found, piece) ?? 'unknown'
  }
  selection.note(now.count, piece.mark)
  if (typeof entry === 'object')
    selection.noteCursor(orderOf(query), { ...entry, offset: now.at, mark: piece.mark })
  return 'moved'
}

/**
 * Reads a page in one snapshot, in which its list is counted; undefined if the count contradicts the records.
 * @param isExact whether the records are counted even if writers keep their number
 */
async function snapshotPage(request: PageRequest, isExact = false): Promise<Page | undefined> {
  const { lease, memory, token, query, constrained } = request
  lease.begin()
  const [state, sets] = await Promise.all([readState(lease, token), readSets(lease, token, constrained)])
  const access = await orCommit(lease, () => accessOf(state.access))
  const isOn = await orCommit(lease, () => isRecorded(state.recording, access.clientId))
  memory.noteAccess(token, access)
  memory.isRecorded = isOn

  const selection = await countAnew(request, sets, isExact)
  const { count } = selection
  const extent = extentOf(query.offset, query.page, selection)
  const entry = selection.nearest(orderOf(query), extent)
  const run = runOf(entry, offsetOf(entry, count), extent)
  if (!run) throw new Error('a page has records on both sides of its entry')
  const found = { selection, count, entry, extent, mark: state.mark, isNew: true }
  const listing = { ...request, sets, isRecorded: isOn }
  const reading = readPiece(lease, listing, entry, run, wayTo(request, found, run))
  const [piece] = await Promise.all([reading, lease.commit()])
  return pageOf(request, access, found, piece)
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
function recall({ memory, known, query }: PageRequest) {
  const selection = memory.selectionOf(known.scope, query.filter)
  if (!selection) return undefined
  const { count, mark, isKept, knowsEnd } = selection
  const extent = extentOf(query.offset, query.page, selection)
  return {
    selection,
    count,
    mark,
    isKept,
    knowsEnd,
    entry: selection.nearest(orderOf(query), extent),
    extent,
  }
}

/** Counts the records of a list of which nothing is remembered. */
async function countAnew(request: PageRequest, sets: Sets, isExact: boolean): Promise<Selection> {
  const { lease, constrained } = request
  const { filters, values } = constrained
  const isCounted = isExact || filters.length > 0
  const [spread, counted] = await Promise.all([
    readSpread(lease, sets),
    isCounted ? countMatches(lease, sets, filters, values, isExact) : undefined,
  ])
  return new Selection(counted ?? spread.records, isKeptCount(filters) && !isExact, spread)
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
  { size, documents, last, shown }: Piece,
): Page | undefined {
  if (size !== extent.shown) return undefined
  if (mark) {
    memory.notePage(access.scope, query.filter, selection, { count, mark, isNew })
    // A page that is read from the end does not look further.
    if (extent.read > extent.shown && entry !== 'end') selection.noteEnd()
    if (last) selection.noteCursor(orderOf(query), { offset: query.offset + size, ...last, mark })
  }
  return { access, count, documents, size, shown }
}

const orderOf = ({ sort, order }: ListQuery) => `${sort} ${order}`
