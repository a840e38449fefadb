import type { ListQuery } from '../contract.ts'
import type { Cursor, Entry } from './cursor.ts'
import type { Mark } from './mark.ts'
import type { Extent } from './page-arithmetic.ts'
import type { Spread } from './spread.ts'

/** Records between two cursors: the ones between are skipped in the index. */
const DISTANCE = 50
/** Past it, every other cursor goes, and the distance between two of them is twice as long. */
const MAX_CURSORS = 20_000
/** Positions that the log of changes keeps (db/migrations/0004). */
const LOG_LENGTH = 10_000
/** Estimates: objects, arrays, map entries. */
const CURSOR_BYTES = 140
const SELECTION_BYTES = 500

/** The sort and the order of a list. */
type Sorted = Pick<ListQuery, 'sort' | 'order'>
const nameOf = ({ sort, order }: Sorted) => `${sort} ${order}`

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
   * The entry from which the fewest records are skipped to a page. The page lies on one side of it. From a cursor, a
   * page that reads one record more than it shows is read toward the end of the list; from the end, it reads none more.
   * The end is an entry only if it is known where it is.
   */
  nearest(sorted: Sorted, { offset, shown, read }: Extent): Entry {
    const { cursors } = this.walks.get(nameOf(sorted)) ?? { cursors: [] }
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
  noteCursor(sorted: Sorted, cursor: Cursor): void {
    const walk = this.walks.getOrInsertComputed(nameOf(sorted), () => ({ distance: DISTANCE, cursors: [] }))
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
