import { LRUCache } from 'lru-cache'
import type { Filter } from '../contract.ts'
import { Counters } from '../counters.ts'
import { sha256 } from '../random.ts'
import type { Access } from './access.ts'
import type { Spread } from './count.ts'
import type { Cursor, Entry } from './cursor.ts'
import type { Mark } from './mark.ts'
import type { Extent } from './page-plan.ts'

/** A hundred integrations with ten live tokens each. */
const MAX_TOKENS = 1000
/** Records between two cursors: the ones between are skipped in the index. */
const DISTANCE = 50
/** Past it, every other cursor goes: fewer records are skipped then than a page has. */
const MAX_CURSORS = 20_000
/** Rows that the log of changes keeps (db/migrations/0003). */
const LOG_LENGTH = 10_000
/** Estimates: objects, arrays, map entries. */
const CURSOR_BYTES = 140
const SELECTION_BYTES = 500

const keyOf = (tokenDigest: Uint8Array) => Buffer.from(tokenDigest).toString('base64')

/**
 * What a process remembers of pages: the last scope of a token, how many records of a scope matched, and cursors where
 * pages ended.
 *
 * Each count and each cursor has a mark: the newest row of the log of changes in the snapshot that it was read from.
 * Writers commit in the order of positions. So a later snapshot that has this row has all that the count was read from,
 * and the rows after it are the changes since. Without the row the count is too old, or of a database that was set back.
 * Counts and cursors are kept by the digest of the scope and the filters; each statement compares that with the token's.
 */
export class PageMemory {
  private readonly tokens = new LRUCache<string, Access>({ max: MAX_TOKENS })
  private readonly selections: LRUCache<string, Selection>
  /** Whether disclosures are recorded, as last found. */
  isRecorded = false

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

  /** What is remembered of the records of a scope that match a filter. */
  selectionOf(scope: string, filter: Filter): Selection | undefined {
    return this.selections.get(selectionKey(scope, filter))
  }

  /**
   * Notes the count of a page in the selection that the page was read with.
   * @param isNew whether the selection was made for this page
   */
  notePage(
    scope: string,
    filter: Filter,
    selection: Selection,
    { count, mark, isNew }: { count: number; mark: Mark; isNew: boolean },
  ): void {
    const key = selectionKey(scope, filter)
    this.counters[isNew ? 'pageMemoryMisses' : 'pageMemoryHits']++
    selection.note(count, mark)
    // For a value that it has already, the cache would keep the old size.
    this.selections.delete(key)
    this.selections.set(key, selection, { size: selection.bytes + 2 * key.length })
  }
}

/** A digest: a key must be short and contain no names. */
function selectionKey(scope: string, filter: Filter): string {
  const filters = JSON.stringify(filter)
  return filters === '{}' ? scope : sha256(scope + filters).toString('base64')
}

/** What is remembered of the records of one scope that match one filter. */
export class Selection {
  bytes = SELECTION_BYTES
  /** The tag of the mark at which a page found the end. */
  #endFound: string | undefined
  /** When the count was read. */
  mark: Mark = { position: 0, tag: '' }
  /** The cursors of each order, by ascending offsets. */
  private readonly walks = new Map<string, { distance: number; cursors: Cursor[] }>()

  /**
   * @param count how many records match
   * @param isKept whether the count is one that writers keep, which may be wrong after writes past the triggers
   * @param spread how the records of the scope are spread; only the way to a page depends on it
   */
  constructor(
    public count: number,
    readonly isKept: boolean,
    readonly spread: Spread,
  ) {}

  /** Whether the count says where the end of the list is: the records were counted, or a page of this mark found the end. */
  get knowsEnd(): boolean {
    return !this.isKept || this.#endFound === this.mark.tag
  }

  /** Notes the count at a mark. */
  note(count: number, mark: Mark): void {
    this.count = count
    this.mark = mark
  }

  /** A page has found the end of the list where the count says. */
  noteEnd(): void {
    this.#endFound = this.mark.tag
  }

  /**
   * The entry from which the fewest records are skipped to a page. The page lies on one side of it. A page that reads one
   * record more than it shows is read toward the end of the list. The end is an entry only if it is known where it is.
   */
  nearest(order: string, { offset, shown, read }: Extent): Entry {
    const { cursors } = this.walks.get(order) ?? { cursors: [] }
    const isInLog = ({ mark }: Cursor) => mark.position > this.mark.position - LOG_LENGTH
    let nearest: Entry = 'start'
    let skip = offset
    const offer = (entry: Entry, skipped: number) => {
      if (skipped < skip) [nearest, skip] = [entry, skipped]
    }
    const before = cursors[lastAtMost(cursors, offset)]
    if (before && isInLog(before)) offer(before, offset - before.offset)
    const end = offset + shown
    const after = cursors[lastAtMost(cursors, end - 1) + 1]
    if (after && isInLog(after) && read === shown) offer(after, after.offset - end)
    if (this.knowsEnd) offer('end', Math.max(0, this.count - end))
    return nearest
  }

  /** Notes where a page of this order ended. Of each `distance` records the newest cursor is kept. */
  noteCursor(order: string, cursor: Cursor): void {
    const walk = this.walks.get(order) ?? { distance: DISTANCE, cursors: [] }
    this.walks.set(order, walk)
    const { cursors, distance } = walk
    const spanOf = (other: Cursor | undefined) => other && Math.floor(other.offset / distance)
    const before = lastAtMost(cursors, cursor.offset)
    const at = spanOf(cursors[before]) === spanOf(cursor) ? before : before + 1
    const replaced = cursors.splice(at, spanOf(cursors[at]) === spanOf(cursor) ? 1 : 0, cursor)
    this.bytes += bytesOf([cursor]) - bytesOf(replaced)
    if (cursors.length <= MAX_CURSORS) return
    walk.distance *= 2
    walk.cursors = cursors.filter((_, index) => index % 2 === 1)
    this.bytes += bytesOf(walk.cursors) - bytesOf(cursors)
  }
}

const bytesOf = (cursors: Cursor[]) =>
  cursors.reduce((sum, { key, id }) => sum + CURSOR_BYTES + 2 * (key.length + id.length), 0)

/** The index of the last of ascending cursors that is at most at `offset`; -1 when there is none. */
function lastAtMost(cursors: Cursor[], offset: number): number {
  let low = 0
  let high = cursors.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((cursors[middle] as Cursor).offset <= offset) low = middle + 1
    else high = middle
  }
  return low - 1
}
