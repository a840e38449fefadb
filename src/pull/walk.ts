import { Failure } from '../errors.ts'
import { IdSet } from './id-set.ts'
import { UnexpectedJson } from './json.ts'
import { type Page, readPage } from './page.ts'
import { PAGE_SIZE } from './query.ts'

/**
 * Reads a whole list, page after page, and notices when it moves.
 *
 * Each page is asked for from the last record that is known, which has to come first in it. So if more was
 * added to the records before than taken away, or less, between two pages, the place of that record has changed
 * and the walk ends in Changed: else the next page would skip as many records as were taken away. The count alone
 * would not tell, since as many may have come at the end. What changes in the part that is still to come does no
 * harm; the walk ends where the count says then. In the end every id has to be there once, and as many as the count.
 *
 * What cannot be seen: as many added as taken away, all of them before the last record, between the same two
 * pages. The contract has nothing that tells. In the order by certified_on that takes an assessment that is
 * recorded late, and another one that is deleted, in one transaction.
 *
 * The order with the fewest moves is certified_on, ascending: what is completed today comes last, and a new
 * name or proctor moves nothing. The service breaks ties by the id.
 */

/** Where a walk stands; a new one begins with nothing written. */
export interface Position {
  /** Of the last record that was written; undefined before the first. */
  lastId: bigint | undefined
  /** Every id that was written. */
  ids: IdSet
  /** What the service said last; undefined before the first page. */
  count: number | undefined
}

/** Where every walk begins. */
export function startOfList(): Position {
  return { lastId: undefined, ids: new IdSet(), count: undefined }
}

/** Some records in their order. */
export interface Batch {
  /** Each on a line, as it was sent. */
  lines: Uint8Array
  /** Records written once these are, and how many there are in all. */
  written: number
  count: number
}

/** The data moved while it was read. The message says how it showed. */
export class Changed extends Error {}

/**
 * Yields what is behind `position`, and moves that on. While a page is worked on, the next one is on its way.
 * @param list the body of a list answer at an offset
 * @throws Changed; Failure when the service sends something that is no page of this list
 */
export async function* walk(
  list: (offset: number) => Promise<Uint8Array>,
  position: Position,
): AsyncGenerator<Batch> {
  const { ids } = position
  // Between two runs much may have happened; nothing is known of it but what the service says now.
  let agreed = ids.size > 0 ? position.count : undefined
  let next: Promise<Uint8Array> | undefined
  for (;;) {
    const offset = Math.max(0, ids.size - 1)
    const body = await (next ?? list(offset))
    next = undefined
    if (offset + PAGE_SIZE < (position.count ?? 0)) {
      next = list(offset + PAGE_SIZE - 1)
      // Whoever ends the walk before has no use for it, and none for its failure.
      next.catch(() => {})
    }
    const page = readAsked(body, offset)
    const isKnown = checkPlace(page, position)
    if (agreed !== undefined && page.count !== agreed)
      throw new Changed(`there are ${page.count} assessments now, and were ${agreed}`)
    agreed = undefined
    position.count = page.count
    for (const id of isKnown ? page.ids.slice(1) : page.ids) ids.add(id)
    position.lastId = page.ids.at(-1) ?? position.lastId
    const lines = isKnown ? page.lines.subarray(page.starts[1] ?? page.lines.length) : page.lines
    yield { lines, written: ids.size, count: page.count }
    if (offset + page.ids.length >= page.count) break
  }
  if (ids.distinct() !== position.count)
    throw new Changed(
      `${ids.distinct()} of ${position.count} assessments came, ${ids.size - ids.distinct()} twice`,
    )
}

function readAsked(body: Uint8Array, offset: number): Page {
  let page: Page
  try {
    page = readPage(body)
  } catch (error) {
    if (!(error instanceof UnexpectedJson)) throw error
    throw new Failure(`the service sent no page of assessments at offset ${offset} (${error.message})`)
  }
  if (page.offset !== offset || page.page !== PAGE_SIZE)
    throw new Failure(
      `the service answered another page than asked: offset ${page.offset} for ${offset}, size ${page.page} for ${PAGE_SIZE}`,
    )
  if (page.ids.length !== Math.max(0, Math.min(PAGE_SIZE, page.count - offset)))
    throw new Changed(`the page at ${offset} has ${page.ids.length} assessments, of ${page.count} in all`)
  return page
}

/** Whether the page begins with the record that was written last. */
function checkPlace(page: Page, { lastId, ids, count }: Position): boolean {
  if (lastId === undefined) return false
  if (page.ids[0] !== lastId)
    throw new Changed(
      `the order of the first ${ids.size} assessments has changed, there are ${page.count} now and were ${count}`,
    )
  return true
}
