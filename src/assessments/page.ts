import type { ListQuery } from '../contract.ts'
import type { Lease, Leases } from '../database/statement.ts'
import { type Access, accessOf, requireAccess } from './access.ts'
import { type Constraints, constraints } from './constraints.ts'
import { readSelection } from './count.ts'
import { isRecorded, type Shown } from './disclosure.ts'
import type { Mark } from './mark.ts'
import { areSame, corrected, extentOf, runOf, shifted } from './page-arithmetic.ts'
import type { PageMemory } from './page-memory.ts'
import { type PagePlan, planOf } from './page-plan.ts'
import { reachOf } from './page-statement.ts'
import { type Rows, readRun } from './read-run.ts'
import type { Selection } from './selection.ts'
import { readState } from './state.ts'

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

/**
 * Why there is no page.
 * - unknown: nothing is remembered, or it cannot be corrected.
 * - outdated: a change has moved the page to the other side of its entry, has changed how many records it shows, or has
 *   made it lie beyond the reach of the statement. The change is remembered now.
 * - contradicted: the page has other records than its count says, after writes past the triggers.
 */
type NoPage = 'unknown' | 'outdated' | 'contradicted'

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

/** How often a page is looked for again that changes have moved: the next plan knows of the changes before. */
const MAX_PLANS = 3

/**
 * Reads a page of a query in the scope of a token: by one statement from what is remembered; otherwise in a snapshot in
 * which the records are counted. Throws HttpError 401 or 400.
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
    let page: Page | NoPage = 'outdated'
    for (let attempt = 1; page === 'outdated' && attempt <= MAX_PLANS; attempt++)
      page = await rememberedPage(request)
    if (page === 'outdated' || page === 'unknown') page = await snapshotPage(request)
    if (page === 'contradicted') page = await snapshotPage(request, true)
    if (typeof page === 'string') throw new Error('the count of a snapshot contradicts its records')
    return page
  })
}

/** Reads a page from what is remembered, by a statement that says what has changed since. */
async function rememberedPage(request: PageRequest): Promise<Page | NoPage> {
  const { lease, memory, token, query, constrained, known } = request
  const selection = memory.selectionOf(known.scope, query.filter)
  if (!selection) return 'unknown'
  const plan = planOf(query, constrained.filters, selection, false)
  const { entry, run, mark } = plan
  const remembered = { scope: known.scope, mark }
  const rows = await readRun(lease, { ...request, isRecorded: memory.isRecorded, remembered }, plan)
  const access = accessOf(rows.access)
  memory.noteAccess(token, access)

  const { since } = rows
  const now = since && corrected(plan, since)
  if (!now) return 'unknown'
  const extent = extentOf(query.offset, query.page, { ...plan, count: now.count })
  const found = { selection, count: now.count, entry, extent, mark: since.mark, isNew: false }
  const read = shifted(run, since)
  const isInReach = read && reachOf(read) === reachOf(run)
  if (isInReach && areSame(read, runOf(entry, now.at, extent))) return pageOf(request, access, found, rows)
  selection.note(now.count, since.mark)
  if (typeof entry === 'object') selection.noteCursor(query, { ...entry, offset: now.at, mark: since.mark })
  return 'outdated'
}

/**
 * Reads a page in one snapshot, in which its list is counted.
 * @param isExact whether the records are counted even if writers keep their number
 */
async function snapshotPage(request: PageRequest, isExact = false): Promise<Page | NoPage> {
  const { lease, memory, token, query, constrained } = request
  lease.begin()
  const state = await readState(lease, token, constrained.narrowed, constrained.values)
  const { access, isOn } = await orCommit(lease, () => {
    const access = accessOf(state.access)
    return { access, isOn: isRecorded(state.recording, access.clientId) }
  })
  memory.noteAccess(token, access)
  memory.isRecorded = isOn

  const selection = await readSelection(lease, state.sets, constrained, isExact)
  const plan = planOf(query, constrained.filters, selection, !selection.isKept)
  const reading = readRun(lease, { ...request, sets: state.sets, isRecorded: isOn }, plan)
  const [rows] = await Promise.all([reading, lease.commit()])
  return pageOf(request, access, { ...plan, selection, mark: state.mark, isNew: true }, rows)
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

/** The plan by which a page was read, as it is right now. */
interface Found extends Pick<PagePlan, 'count' | 'entry' | 'extent'> {
  selection: Selection
  /** Undefined if the log of changes is empty: nothing can be remembered. */
  mark: Mark | undefined
  /** Whether the selection was made for this page. */
  isNew: boolean
}

/** Makes the page of what was read, and remembers its count and where it ended. */
function pageOf(
  { memory, query }: PageRequest,
  access: Access,
  { selection, count, entry, extent, mark, isNew }: Found,
  { size, documents, last, shown }: Rows,
): Page | NoPage {
  if (size !== extent.shown) return 'contradicted'
  if (mark) {
    memory.notePage(access.scope, query.filter, selection, { count, mark, isNew })
    // A page that is read from the end does not look further.
    if (extent.read > extent.shown && entry !== 'end') selection.noteEnd()
    if (last) selection.noteCursor(query, { offset: query.offset + size, ...last, mark })
  }
  return { access, count, documents, size, shown }
}
