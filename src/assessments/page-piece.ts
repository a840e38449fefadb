import type { ListQuery } from '../contract.ts'
import { type Runner, text } from '../postgres/statement.ts'
import type { AccessRow } from './access.ts'
import type { Constraints } from './conditions.ts'
import type { Sets } from './count.ts'
import type { Entry } from './cursor.ts'
import type { Shown } from './disclosure.ts'
import { type Mark, markOf, markValues } from './mark.ts'
import type { Changes, Run } from './page-plan.ts'
import { isOfWalk, PAGE, pageStatement, reachOf } from './page-statement.ts'
import type { Way } from './ways.ts'

/** Records of a run, as one statement has read them. */
export interface Piece {
  access: AccessRow | undefined
  /** Whether what is remembered can be corrected. Otherwise no record was read. */
  isKnown: boolean
  /** The changes since; none if nothing was remembered. */
  changes: Changes
  mark: Mark | undefined
  documents: Uint8Array
  size: number
  /** The sort key and the id of the last record. */
  last: { key: string; id: string } | undefined
  shown: Shown
}

/** What is remembered of a list: the scope that its token had, and the mark of its count. */
export interface Remembered {
  scope: string
  mark: Mark
}

/** The list that a piece belongs to. */
export interface Listing {
  token: Uint8Array
  query: ListQuery
  constrained: Constraints
  /** The sets that are read, if they are known: a statement that is planned for its values looks faster into them. */
  sets?: Sets | undefined
  /** Whether ids are returned for disclosures. */
  isRecorded: boolean
}

/** Reads the records of a run beside an entry, or of the run shifted() if it was planned from what is remembered. */
export async function readPiece(
  db: Runner,
  { token, query, constrained, sets, isRecorded }: Listing,
  entry: Entry,
  { side, skip, size }: Run,
  way: Way,
  remembered?: Remembered,
): Promise<Piece> {
  const { sort, order } = query
  const { filters, narrowed, values } = constrained
  const cursor = typeof entry === 'object' ? entry : undefined
  const reach = reachOf({ skip, size })
  const hasSets = sets !== undefined && !isOfWalk({ filters, reach })
  const read = pageStatement({
    sort,
    order,
    way,
    filters,
    narrowed,
    side,
    hasCursor: cursor !== undefined,
    reach,
    hasSets,
    isRemembered: remembered !== undefined,
    isRecorded,
  })
  const [row] = await read(db, {
    ...values,
    ...(hasSets && sets),
    token,
    skip,
    size,
    key: cursor?.key,
    id: cursor?.id,
    scope: remembered?.scope,
    ...markValues(remembered?.mark, cursor?.mark),
  })
  const page = PAGE.read(row)
  const [key, id] = [text(page.lastKey), text(page.lastId)]
  return {
    access: row && page,
    isKnown: text(page.isKnown) === 't',
    changes: { counted: Number(text(page.counted)), moved: Number(text(page.moved)) },
    mark: markOf(page),
    documents: page.documents ?? new Uint8Array(),
    size: Number(text(page.size)),
    last: key !== null && id !== null ? { key, id } : undefined,
    shown: { assessments: text(page.assessments), people: text(page.people) },
  }
}
