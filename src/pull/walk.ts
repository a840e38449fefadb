import { MAX_PAGE } from '../contract.ts'
import { Failure } from '../errors.ts'
import { Client } from './client.ts'
import { type PullJob, type PullObserver, queryString } from './job.ts'
import { type Page, readPage, UnexpectedJson } from './record.ts'

/**
 * Each page is requested from the last record of the page before, which has to come first. If more records were added
 * before it than removed, or fewer, it has moved, and the next page would skip or repeat records. The count cannot tell,
 * because it includes the part still to come, where changes do no harm. In the end, the number of distinct ids has to
 * equal the count. If as many records are removed as added before the current position, between two pages, the walk
 * cannot tell.
 */

/** Where a walk is: every id that was read, 8 to 16 bytes each. A Set of 10,000,000 ids would take 670 MB. */
export class Position {
  #ids = new BigUint64Array(1024)
  /** Ids added, repeated ones included. */
  size = 0
  /** The count in the last page; 0 before the first page. */
  count = 0

  /** @param id from 0 to 2^63 − 1 */
  add(id: number | bigint): void {
    if (this.size === this.#ids.length)
      this.#ids = new BigUint64Array(this.#ids.buffer.transfer(2 * this.#ids.byteLength))
    this.#ids[this.size++] = BigInt(id)
  }

  /** The last id, before distinct(). */
  get last(): bigint | undefined {
    return this.#ids[this.size - 1]
  }

  /** How many different ids were added; sorts them. */
  distinct(): number {
    const { buffer, length } = this.#ids.subarray(0, this.size).sort()
    // In halves: each element that is read of a BigUint64Array is a new object.
    const halves = new Uint32Array(buffer, 0, 2 * length)
    let distinct = Math.min(length, 1)
    for (let at = 2; at < halves.length; at += 2)
      if (halves[at] !== halves[at - 2] || halves[at + 1] !== halves[at - 1]) distinct++
    return distinct
  }
}

/** The list changed while it was read. The message says how that showed. */
export class Changed extends Error {}

/**
 * Yields the records after `position` as NDJSON, and moves `position` behind them. While a page is written, the next
 * one is on its way. Throws Changed, or Failure for an answer that is no page of this list.
 */
export async function* walk(job: PullJob, position: Position, observer: PullObserver) {
  const client = new Client(job.service, observer)
  const query = queryString(job.query)
  const list = (offset: number) => client.list(`${query}&offset=${offset}`)
  const resumed = position.size
  let firstCount = resumed > 0 ? position.count : undefined
  let next: Promise<Uint8Array> | undefined
  for (;;) {
    const offset = Math.max(0, position.size - 1)
    const body = await (next ?? list(offset))
    next = undefined
    if (offset + MAX_PAGE < position.count) {
      next = list(offset + MAX_PAGE - 1)
      // If the walk ends before, nobody awaits this promise.
      next.catch(() => {})
    }
    const page = readAt(offset, body)
    const { count } = page.meta
    const known = Math.min(position.size, 1)
    if (known && BigInt(page.ids[0] ?? -1) !== position.last)
      throw new Changed(
        `the order of the first ${position.size} assessments has changed, there are ${count} now and were ${position.count}`,
      )
    firstCount ??= count
    // An earlier run may have ended hours ago: only a list with the same count is continued.
    if (position.size === resumed && count !== firstCount)
      throw new Changed(`there are ${count} assessments now, and were ${firstCount}`)
    for (const id of page.ids.slice(known)) position.add(id)
    position.count = count
    observer.onProgress({ phase: 'pulling', done: position.size, total: count, resumed })
    const lines = page.lines.slice(known).map(line => `${line}\n`)
    yield Buffer.from(lines.join(''))
    if (offset + page.ids.length >= count) break
  }
  const distinct = position.distinct()
  if (distinct !== position.count)
    throw new Changed(`${distinct} of ${position.count} assessments came, ${position.size - distinct} twice`)
  if (position.count !== firstCount)
    observer.onNote(`${firstCount} assessments became ${position.count} meanwhile; all of these are in`)
}

function readAt(offset: number, body: Uint8Array): Page {
  let page: Page
  try {
    page = readPage(body)
  } catch (error) {
    if (!(error instanceof UnexpectedJson)) throw error
    throw new Failure(`the service sent no page of assessments at offset ${offset} (${error.message})`)
  }
  const { ids, meta } = page
  if (meta.offset !== offset || meta.page !== MAX_PAGE)
    throw new Failure(
      `the service sent another page than the requested one: offset ${meta.offset} for ${offset}, size ${meta.page} for ${MAX_PAGE}`,
    )
  if (ids.length !== Math.max(0, Math.min(MAX_PAGE, meta.count - offset)))
    throw new Changed(`the page at ${offset} has ${ids.length} assessments, of ${meta.count} in all`)
  return page
}
