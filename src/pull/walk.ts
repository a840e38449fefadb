import { MAX_PAGE } from '../contract.ts'
import { Failure } from '../errors.ts'
import type { ApiClient } from './api-client.ts'
import { type PullObserver, type PullQuery, queryString } from './job.ts'
import { type Page, type Pulled, parsePage, UnexpectedJson } from './record.ts'

/** The list changed while it was read. The message says how that showed. */
export class Changed extends Error {}

/**
 * Yields all records, page by page. Each page is requested from the last record of the page before, which has to come
 * first. If more records were added before it than removed, or fewer, it has moved, and the next page would skip or repeat
 * records. The count cannot tell, because it includes the part still to come, where changes do no harm. In the end, the
 * number of distinct ids has to equal the count. If as many records are removed as added before the current position,
 * between two pages, the walk cannot tell.
 * @throws Changed; Failure for an answer that is no page of this list
 */
export async function* walk(
  client: ApiClient,
  query: PullQuery,
  observer: PullObserver,
): AsyncGenerator<Pulled[]> {
  const ids = new Set<Pulled['id']>()
  let size = 0
  let last: Pulled | undefined
  let firstCount: number | undefined
  for (let isDone = false; !isDone; ) {
    const offset = Math.max(0, size - 1)
    const { records, count } = readAt(offset, await client.list(`${queryString(query)}&offset=${offset}`))
    if (last && records[0]?.id !== last.id)
      throw new Changed(`the order of the first ${size} assessments has changed, there are ${count} now`)
    const further = last ? records.slice(1) : records
    for (const { id } of further) ids.add(id)
    size += further.length
    last = records.at(-1)
    firstCount ??= count
    observer.onProgress(size, count)
    yield further
    isDone = offset + records.length >= count
    if (isDone && ids.size !== count)
      throw new Changed(`${ids.size} of ${count} assessments came, ${size - ids.size} twice`)
    if (isDone && count !== firstCount)
      observer.onNote(`${firstCount} assessments became ${count} meanwhile; all of these are in`)
  }
}

function readAt(offset: number, body: Uint8Array): Page {
  let page: Page
  try {
    page = parsePage(body)
  } catch (error) {
    if (!(error instanceof UnexpectedJson)) throw error
    throw new Failure(`the service sent no page of assessments at offset ${offset} (${error.message})`)
  }
  if (page.offset !== offset || page.page !== MAX_PAGE)
    throw new Failure(
      `the service sent another page than the requested one: offset ${page.offset} for ${offset}, size ${page.page} for ${MAX_PAGE}`,
    )
  const { length } = page.records
  if (length !== Math.max(0, Math.min(MAX_PAGE, page.count - offset)))
    throw new Changed(`the page at ${offset} has ${length} assessments, of ${page.count} in all`)
  return page
}
