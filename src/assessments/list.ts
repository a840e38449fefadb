import type { ListQuery } from '../contract.ts'

/** Where in a list a page ended: `offset` records come up to the one with this key and id. */
export interface Cursor {
  offset: number
  key: string
  id: string
}

/** The sort and the order of a list. */
type Sorted = Pick<ListQuery, 'sort' | 'order'>

/** At first, cursors stand at least so many records apart. Those between are skipped in the index. */
const DISTANCE = 50
/** A list with more keeps every other cursor. All those of 1,000,000 records, by 100 in eight orders, would be 14 MB. */
const MAX_BYTES = 4 * 1024 * 1024
/** Estimates: objects, arrays, map entries. */
const LIST_BYTES = 700
const CURSOR_BYTES = 140

/** What is known of a list: the records of a scope that match a set of filters, at one version of the export. */
export class List {
  bytes = LIST_BYTES
  #distance = DISTANCE
  /** The cursors of each order, by ascending offsets. */
  readonly #cursors = new Map<string, Cursor[]>()

  /**
   * @param version of the export; null if somebody has deleted its row
   * @param count how many records match
   * @param hasMost whether these are most of all records
   */
  constructor(
    readonly version: string | null,
    readonly count: number,
    readonly hasMost: boolean,
  ) {}

  /** The last cursor of this order that is not past an offset. */
  cursorBefore(sorted: Sorted, offset: number): Cursor | undefined {
    const cursors = this.#cursorsOf(sorted)
    return cursors[indexAfter(cursors, offset) - 1]
  }

  /** Notes where a page of this order ended, unless another cursor is close by. */
  noteCursor(sorted: Sorted, cursor: Cursor): void {
    const cursors = this.#cursorsOf(sorted)
    const at = indexAfter(cursors, cursor.offset)
    const [before, after] = [cursors[at - 1]?.offset ?? 0, cursors[at]?.offset ?? Number.POSITIVE_INFINITY]
    if (Math.min(cursor.offset - before, after - cursor.offset) < this.#distance) return
    cursors.splice(at, 0, cursor)
    this.bytes += bytesOf([cursor])
    if (this.bytes > MAX_BYTES) this.#thin()
  }

  /** Drops every other cursor, so that a list is never forgotten for its size. */
  #thin(): void {
    this.#distance *= 2
    this.bytes = LIST_BYTES
    for (const [name, cursors] of this.#cursors) {
      const kept = cursors.filter((_, at) => at % 2 === 1)
      this.#cursors.set(name, kept)
      this.bytes += bytesOf(kept)
    }
  }

  #cursorsOf({ sort, order }: Sorted): Cursor[] {
    return this.#cursors.getOrInsertComputed(`${sort} ${order}`, () => [])
  }
}

const bytesOf = (cursors: Cursor[]) =>
  cursors.reduce((sum, { key, id }) => sum + CURSOR_BYTES + 2 * (key.length + id.length), 0)

/** The index of the first of ascending cursors that is past an offset. */
function indexAfter(cursors: Cursor[], offset: number): number {
  let [low, high] = [0, cursors.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((cursors[middle] as Cursor).offset <= offset) low = middle + 1
    else high = middle
  }
  return low
}
