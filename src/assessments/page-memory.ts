import { type Counters, newCounters } from '../counters.ts'
import { LruCache } from '../lru-cache.ts'
import { sha256 } from '../random.ts'
import type { Access } from './access.ts'
import type { Filter } from './parameters.ts'
import type { Moment, PageRow } from './queries.ts'

/** Tokens that are remembered: a hundred integrations with ten live tokens each. */
const MAX_TOKENS = 1000

const keyOf = (tokenDigest: Uint8Array) => Buffer.from(tokenDigest).toString('base64')

/**
 * What a server remembers between requests, so that a page at any depth is entered at once and its count costs
 * nothing: which scope a token had, how many records of a scope matched, and where pages ended. All of it is a
 * hint. The statement that reads a page is given the hint, corrects it by the log of changes in its own snapshot,
 * and says when it cannot (db/migrations/0003).
 *
 * A fact is of a moment: a position in the log and its random tag. Writers commit in the order of positions, so that a
 * snapshot with this very row has all that the fact was found in, and the rows behind it say what has changed
 * since; without the row the fact is of a history that is gone, or too old. Only SQL compares keys. Facts are kept by
 * the digest of the scope and the filters; the statement reads the digest anew, beside the token.
 */
export class PageMemory {
  private readonly tokens = new LruCache<Access>(MAX_TOKENS)
  private readonly selections: LruCache<Selection>

  /**
   * @param counters of pages that were read by what is remembered, and of those that could not be
   * @param budget in bytes
   */
  constructor(
    private readonly counters: Pick<Counters, 'pageMemoryHits' | 'pageMemoryMisses'> = newCounters(),
    budget = 32 * 1024 * 1024,
  ) {
    this.selections = new LruCache(budget)
  }

  /** What the token last gave access to. */
  accessOf(tokenDigest: Uint8Array): Access | undefined {
    return this.tokens.get(keyOf(tokenDigest))
  }

  /** Remembers what a statement says of a token. */
  note(tokenDigest: Uint8Array, access: Access): void {
    this.tokens.set(keyOf(tokenDigest), access)
  }

  /** The facts about the records of a scope that match a filter. */
  recall(scope: string, filter: Filter): Selection | undefined {
    return this.selections.get(selectionKey(scope, filter))
  }

  /** Keeps what a page has shown: with `facts`, which it was read by, or in their place. */
  learn(scope: string, filter: Filter, facts: Selection | undefined, row: PageRow): Selection {
    if (facts) this.counters.pageMemoryHits++
    else this.counters.pageMemoryMisses++
    const selection = facts ?? new Selection(row.total ?? -1)
    selection.count = row.count
    selection.moment = row.moment
    const key = selectionKey(scope, filter)
    this.selections.set(key, selection, selection.bytes + 2 * key.length)
    return selection
  }
}

/** A digest: a key must be short, and hold nobody's name. */
function selectionKey(scope: string, filter: Filter): string {
  const asked = JSON.stringify(filter)
  return asked === '{}' ? scope : sha256(scope + asked).toString('base64')
}

/** `offset` records of an order are up to the one with this key and id. */
export interface Place {
  offset: number
  key: string
  id: string
  moment: Moment
}

/** Pages of so many records share one place: the records between are skipped in the index. */
const DISTANCE = 50

/** Past it, every other place goes: what is skipped then is still little beside a page, and memory is bounded. */
const MOST_PLACES = 20_000

/** Rows that the log of changes keeps (db/migrations/0003). */
const LOG_LENGTH = 10_000

/** Estimates: objects, arrays, map entries. */
const PLACE_BYTES = 140
const SELECTION_BYTES = 500

/** Where pages ended in one order, by ascending offsets. */
interface Walk {
  distance: number
  places: Place[]
}

/** Facts about the records of one selection. */
export class Selection {
  bytes = SELECTION_BYTES
  /** How many records match, and when that was. */
  count = 0
  moment: Moment = { position: 0, tag: '' }
  private readonly walks = new Map<string, Walk>()

  /** @param total about how many records there are in all; nothing depends on it but the way to a page */
  constructor(readonly total: number) {}

  /** The place from which the fewest records are skipped to the page of `size` records behind `offset`. */
  nearest(order: string, offset: number, size: number): { from: 'start' | 'end' | Place; skip: number } {
    const ways: { from: 'start' | 'end' | Place; skip: number }[] = [{ from: 'start', skip: offset }]
    const { places } = this.walks.get(order) ?? { places: [] }
    const index = lastAtMost(places, offset)
    for (const place of places.slice(Math.max(0, index), index + 2)) {
      const skip = place.offset <= offset ? offset - place.offset : Math.max(0, place.offset - offset - size)
      if (place.moment.position > this.moment.position - LOG_LENGTH) ways.push({ from: place, skip })
    }
    ways.push({ from: 'end', skip: Math.max(0, this.count - offset - size) })
    return ways.reduce((best, way) => (way.skip < best.skip ? way : best))
  }

  /** A page of this order has ended at a place. Of each `distance` records the newest place is kept. */
  note(order: string, place: Place): void {
    const walk = this.walks.get(order) ?? { distance: DISTANCE, places: [] }
    this.walks.set(order, walk)
    const { places, distance } = walk
    const spanOf = (other: Place | undefined) => other && Math.floor(other.offset / distance)
    const before = lastAtMost(places, place.offset)
    const at = spanOf(places[before]) === spanOf(place) ? before : before + 1
    const replaced = places.splice(at, spanOf(places[at]) === spanOf(place) ? 1 : 0, place)
    this.bytes += bytesOf(place) - replaced.reduce((sum, other) => sum + bytesOf(other), 0)
    if (places.length > MOST_PLACES) this.thin(walk)
  }

  private thin(walk: Walk): void {
    walk.distance *= 2
    this.bytes -= walk.places.reduce((sum, place, index) => sum + (index % 2 === 0 ? bytesOf(place) : 0), 0)
    walk.places = walk.places.filter((_, index) => index % 2 === 1)
  }
}

const bytesOf = ({ key, id }: Place) => PLACE_BYTES + 2 * (key.length + id.length)

/** The index of the last of ascending places that is at most at `offset`; -1 when there is none. */
function lastAtMost(places: Place[], offset: number): number {
  let low = 0
  let high = places.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((places[middle] as Place).offset <= offset) low = middle + 1
    else high = middle
  }
  return low - 1
}
