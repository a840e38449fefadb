import type { ListQuery } from '../contract.ts'
import { type Runner, text } from '../database/statement.ts'
import type { AccessRow } from './access.ts'
import type { Constraints } from './constraints.ts'
import type { Entry } from './cursor.ts'
import type { Shown } from './disclosure.ts'
import { type Mark, markOf, markValues } from './mark.ts'
import type { Changes, Run } from './page-arithmetic.ts'
import { isOfWalk, PAGE, pageStatement, reachOf } from './page-statement.ts'
import type { Sets } from './scope.ts'
import type { Way } from './ways.ts'

/** The list that a run belongs to. */
interface Listing {
  token: Uint8Array
  query: ListQuery
  constrained: Constraints
  /** The sets that are read, if they are known: a statement that is planned for its values looks faster into them. */
  sets?: Sets
  /** Whether ids are returned for disclosures. */
  isRecorded: boolean
  /** For a run that is planned from what is remembered: the scope that the token had, and the mark of the count. */
  remembered?: { scope: string; mark: Mark }
}

/** What one statement has read. */
export interface Rows {
  access: AccessRow | undefined
  /** What has changed since the marks; undefined if nothing was remembered, or if it cannot be corrected. */
  since: (Changes & { mark: Mark }) | undefined
  /** With commas between. None if there is no shifted() run, or if what is remembered cannot be corrected. */
  documents: Uint8Array
  /** How many. */
  size: number
  /** The sort key and the id of the last record. */
  last: { key: string; id: string } | undefined
  shown: Shown
}

/** Reads the records of a run beside an entry, or of the shifted() run if it was planned from what is remembered. */
export async function readRun(
  db: Runner,
  { token, query, constrained, sets, isRecorded, remembered }: Listing,
  { entry, run, way }: { entry: Entry; run: Run; way: Way },
): Promise<Rows> {
  const { filters, narrowed, values } = constrained
  const cursor = typeof entry === 'object' ? entry : undefined
  const reach = reachOf(run)
  const given = isOfWalk({ filters, reach }) ? undefined : sets
  const read = pageStatement({
    sort: query.sort,
    order: query.order,
    way,
    filters,
    narrowed,
    side: run.side,
    hasCursor: cursor !== undefined,
    reach,
    hasSets: given !== undefined,
    isRemembered: remembered !== undefined,
    isRecorded,
  })
  const [row] = await read(db, {
    ...values,
    ...given,
    token,
    skip: run.skip,
    size: run.size,
    key: cursor?.key,
    id: cursor?.id,
    scope: remembered?.scope,
    ...markValues(remembered?.mark, cursor?.mark),
  })
  const page = PAGE.read(row)
  const [mark, key, id] = [markOf(page), text(page.lastKey), text(page.lastId)]
  const changes = { counted: Number(text(page.counted)), moved: Number(text(page.moved)) }
  return {
    access: row && page,
    since: mark && text(page.isCorrectable) === 't' ? { ...changes, mark } : undefined,
    documents: page.documents ?? new Uint8Array(),
    size: Number(text(page.size)),
    last: key !== null && id !== null ? { key, id } : undefined,
    shown: { assessments: text(page.assessments), people: text(page.people) },
  }
}
