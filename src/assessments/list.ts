import type { ListQuery } from '../contract.ts'

/** Where in a list a page ended: `offset` records come up to the one with this key and id. */
export interface Cursor {
  offset: number
  key: string
  id: string
}

/** The sort and the order of a list. */
type Sorted = Pick<ListQuery, 'sort' | 'order'>

/** The records between two cursors at first: those between are skipped in the index. */
const DISTANCE = 50
/** Past it, every other cursor of an order goes, and the distance between two of them is twice as long. */
const MAX_CURSORS = 20_000
/** Estimates: objects, arrays, map entries. */
const CURSOR_BYTES = 140
const LIST_BYTES = 700

/** What a count says of a list. */
interface Counted {
  /** Of the export. Null if somebody has deleted its row: the list is then not believed. */
  version: string | null
  /** Whether disclosures are recorded. */
  isRecorded: boolean
  /** How many records match. */
  count: number
  /** Whether the list ends where the count says: its records were counted, or a page has found the end. */
  isProven: boolean
  /** How many records the scope has, without filters; its organizations; its products; and all. For the choice of a way. */
  ofScope: number
  ofOrganizations: number
  ofProducts: number
  all: number
}

/** What is known of a list: the records of a scope that match a set of filters, at one version of the export. */
export class List implements Counted {
  readonly version
  readonly isRecorded
  readonly count
  isProven
  readonly ofScope
  readonly ofOrganizations
  readonly ofProducts
  readonly all
  bytes = LIST_BYTES
  /** The cursors of each order, by ascending offsets. */
  private readonly walks = new Map<string, { distance: number; cursors: Cursor[] }>()

  constructor(counted: Counted) {
    this.version = counted.version
    this.isRecorded = counted.isRecorded
    this.count = counted.count
    this.isProven = counted.isProven
    this.ofScope = counted.ofScope
    this.ofOrganizations = counted.ofOrganizations
    this.ofProducts = counted.ofProducts
    this.all = counted.all
  }

  /**
   * From where the fewest records are skipped to a page: from the start, the end, or a cursor. The end is known once the
   * count is proven. A page that looks for one record more is read toward the end, or from it, where there is none more.
   * @param shown how many records the page has
   */
  nearest(sorted: Sorted, offset: number, shown: number, looksFurther: boolean): Entry {
    const end = offset + shown
    const { cursors } = this.walks.get(nameOf(sorted)) ?? { cursors: [] }
    const before = lastAtMost(cursors, offset)
    const [near, far] = [cursors[before], cursors[lastAtMost(cursors, end - 1) + 1]]
    let nearest: Entry = { ...START, skip: offset }
    const offer = (entry: Entry) => {
      if (entry.skip < nearest.skip) nearest = entry
    }
    if (near) offer({ cursor: near, isBackward: false, skip: offset - near.offset })
    if (far && !looksFurther) offer({ cursor: far, isBackward: true, skip: far.offset - end })
    if (this.isProven) offer({ cursor: undefined, isBackward: true, skip: this.count - end })
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

/** Where a page is read from, and how many records are skipped. Without a cursor it is an end of the list. */
export interface Entry {
  cursor: Cursor | undefined
  /** Whether it is read against the order. */
  isBackward: boolean
  skip: number
}

/** The start of a list. */
export const START: Entry = { cursor: undefined, isBackward: false, skip: 0 }

const nameOf = ({ sort, order }: Sorted) => `${sort} ${order}`

const bytesOf = (cursors: Cursor[]) =>
  cursors.reduce((sum, { key, id }) => sum + CURSOR_BYTES + 2 * (key.length + id.length), 0)

/** The index of the last of ascending cursors that is at most at `offset`; -1 when there is none. */
function lastAtMost(cursors: Cursor[], offset: number): number {
  let [low, high] = [0, cursors.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((cursors[middle] as Cursor).offset <= offset) low = middle + 1
    else high = middle
  }
  return low - 1
}
