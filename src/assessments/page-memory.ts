import { LRUCache } from 'lru-cache'
import type { Filter } from '../contract.ts'
import { Counters } from '../counters.ts'
import { sha256 } from '../random.ts'
import type { Access } from './access.ts'

/** A hundred integrations with ten live tokens each. */
const MAX_TOKENS = 1000
/** Records between two places: the ones between are skipped in the index. */
const DISTANCE = 50
/** Past it, every other place goes: fewer records are skipped then than a page has. */
const MAX_PLACES = 20_000
/** Rows that the log of changes keeps (db/migrations/0003). */
const LOG_LENGTH = 10_000
/** Estimates: objects, arrays, map entries. */
const PLACE_BYTES = 140
const SELECTION_BYTES = 500

const keyOf = (tokenDigest: Uint8Array) => Buffer.from(tokenDigest).toString('base64')

/**
 * Hints for pages at any depth: the last scope of a token, how many records of a scope matched, and where pages ended.
 * The statement of a page corrects them by the log of changes in its snapshot, or finds them invalid (0003_changes.sql).
 *
 * A hint belongs to a moment: a position in the log and its random tag. Writers commit in the order of positions. So a
 * snapshot that contains this row contains all that the hint was read from, and the rows after it are the changes since;
 * without the row the hint is too old, or of a database that was set back. Hints are kept by the digest of the scope and
 * the filters; the statement reads the scope digest again, with the token.
 */
export class PageMemory {
  private readonly tokens = new LRUCache<string, Access>({ max: MAX_TOKENS })
  private readonly selections: LRUCache<string, Selection>

  /** @param budget in bytes */
  constructor(
    private readonly counters = new Counters(),
    budget = 32 * 1024 * 1024,
  ) {
    this.selections = new LRUCache({ maxSize: budget })
  }

  /** The last access of a token. */
  accessOf(tokenDigest: Uint8Array): Access | undefined {
    return this.tokens.get(keyOf(tokenDigest))
  }

  noteAccess(tokenDigest: Uint8Array, access: Access): void {
    this.tokens.set(keyOf(tokenDigest), access)
  }

  /** The hints about the records of a scope that match a filter. */
  selectionOf(scope: string, filter: Filter): Selection | undefined {
    return this.selections.get(selectionKey(scope, filter))
  }

  /** Notes what a page statement found: in the hints that it used, or in new ones if it used none. */
  notePage(
    scope: string,
    filter: Filter,
    used: Selection | undefined,
    { count, moment, total = -1 }: { count: number; moment: Moment; total: number | undefined },
  ): Selection {
    this.counters[used ? 'pageMemoryHits' : 'pageMemoryMisses']++
    const selection = Object.assign(used ?? new Selection(total), { count, moment })
    const key = selectionKey(scope, filter)
    // For a value that it has already, the cache would keep the old size.
    this.selections.delete(key)
    this.selections.set(key, selection, { size: selection.bytes + 2 * key.length })
    return selection
  }
}

/** A digest: a key must be short and contain no names. */
function selectionKey(scope: string, filter: Filter): string {
  const filters = JSON.stringify(filter)
  return filters === '{}' ? scope : sha256(scope + filters).toString('base64')
}

/** A position in the log of changes, and the random tag of the row there. */
export interface Moment {
  position: number
  tag: string
}

/** Where a page ended: `offset` records of an order come up to the one with this key and id. */
export interface Place {
  offset: number
  key: string
  id: string
  moment: Moment
}

/** Where a page is entered: at the first record, the last one or a place; and how many records are skipped from there. */
export interface Entry {
  from: 'start' | 'end' | Place
  skip: number
}

/** Hints about the records of one scope that match one filter. */
export class Selection {
  bytes = SELECTION_BYTES
  /** How many records match, and when that was. */
  count = 0
  moment: Moment = { position: 0, tag: '' }
  /** Where pages ended in each order, by ascending offsets. */
  private readonly walks = new Map<string, { distance: number; places: Place[] }>()

  /** @param total an estimate of all records, matching or not; only the way to a page depends on it */
  constructor(readonly total: number) {}

  /** The entry from which the fewest records are skipped to the page of `size` records after `offset`. */
  nearest(order: string, offset: number, size: number): Entry {
    const entries: Entry[] = [{ from: 'start', skip: offset }]
    const { places } = this.walks.get(order) ?? { places: [] }
    const index = lastAtMost(places, offset)
    for (const place of places.slice(Math.max(0, index), index + 2)) {
      const skip = place.offset <= offset ? offset - place.offset : Math.max(0, place.offset - offset - size)
      if (place.moment.position > this.moment.position - LOG_LENGTH) entries.push({ from: place, skip })
    }
    entries.push({ from: 'end', skip: Math.max(0, this.count - offset - size) })
    return entries.reduce((best, entry) => (entry.skip < best.skip ? entry : best))
  }

  /** Notes where a page of this order ended. Of each `distance` records the newest place is kept. */
  notePlace(order: string, place: Place): void {
    const walk = this.walks.get(order) ?? { distance: DISTANCE, places: [] }
    this.walks.set(order, walk)
    const { places, distance } = walk
    const spanOf = (other: Place | undefined) => other && Math.floor(other.offset / distance)
    const before = lastAtMost(places, place.offset)
    const at = spanOf(places[before]) === spanOf(place) ? before : before + 1
    const replaced = places.splice(at, spanOf(places[at]) === spanOf(place) ? 1 : 0, place)
    this.bytes += bytesOf([place]) - bytesOf(replaced)
    if (places.length <= MAX_PLACES) return
    walk.distance *= 2
    walk.places = places.filter((_, index) => index % 2 === 1)
    this.bytes += bytesOf(walk.places) - bytesOf(places)
  }
}

const bytesOf = (places: Place[]) =>
  places.reduce((sum, { key, id }) => sum + PLACE_BYTES + 2 * (key.length + id.length), 0)

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
