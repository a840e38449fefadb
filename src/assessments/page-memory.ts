import { type Counters, newCounters } from '../counters.ts'

/** A record's place in the order of a sort: its sort key as text, and its id. */
export interface Edge {
  key: string
  id: string
}

/**
 * What a server remembers between requests, so that a page at any depth is entered at once and its count
 * costs nothing: for a selection (a scope and filters) how many records match, and for each of its orders
 * where pages ended. An answer that used it equals plain OFFSET and count(*) on the data of its snapshot:
 *
 * 1. A Selection holds facts about the records of some organizations at `version`. Any change of such a
 *    record gives its organization, in the same transaction, a version that was never there before
 *    (db/migrations/0004), and writers commit one after the other in the order of versions. So the facts
 *    hold in every snapshot in which no organization of the selection has a version above `version`.
 * 2. A page statement returns the version of its own snapshot. Equal to `version`: the facts held in it.
 * 3. Not equal: versions are asked again, in a later snapshot. If even there no organization of the
 *    selection is above `version`, none was in the page's earlier snapshot. Otherwise the page is thrown
 *    away and read anew without any facts, which needs none to be right.
 * 4. A database that was set back to an older state shows a version below the one at which the facts were
 *    first found: they are not used. At or above it, it is a state that they held in.
 * 5. Facts are only added from answers that passed 2 or 3. Under another scope or other filters the key is
 *    another one, so that they are never mixed.
 *
 * Bounded: a budget of bytes, the least recently used selection out first.
 */
export class PageMemory {
  private readonly selections = new Map<string, Selection>()
  private bytes = 0

  /**
   * @param counters of pages that were read by what is remembered, and of those that could not be
   * @param budget in bytes
   */
  constructor(
    private readonly counters: Pick<Counters, 'pageMemoryHits' | 'pageMemoryMisses'> = newCounters(),
    private readonly budget = 32 * 1024 * 1024,
  ) {}

  /** Counts a page that was read. */
  count(isHit: boolean): void {
    if (isHit) this.counters.pageMemoryHits++
    else this.counters.pageMemoryMisses++
  }

  /** The facts about a selection, and from now on the most recently used ones. */
  recall(key: string): Selection | undefined {
    const selection = this.selections.get(key)
    if (selection) {
      this.selections.delete(key)
      this.selections.set(key, selection)
    }
    return selection
  }

  /** Keeps the facts that `selection` now holds under this key, in the place of any others. */
  remember(key: string, selection: Selection): void {
    this.forget(key)
    this.selections.set(key, selection)
    selection.keptBytes = selection.bytes + 2 * key.length
    this.bytes += selection.keptBytes
    for (const oldest of this.selections.keys()) {
      if (this.bytes <= this.budget) break
      this.forget(oldest)
    }
  }

  private forget(key: string): void {
    const selection = this.selections.get(key)
    if (!selection) return
    this.selections.delete(key)
    this.bytes -= selection.keptBytes
  }
}

/** Pages closer together than this share one edge: the records between them are skipped in the index. */
const EDGE_DISTANCE = 50

/** Past it, every other edge goes: what is skipped then is still little beside a page, and memory is bounded. */
const MOST_EDGES = 20_000

/** Estimate for an edge beside its texts, and for a selection: objects, arrays, map entries. */
const EDGE_BYTES = 120
const SELECTION_BYTES = 500

/** Where pages ended in one order: ascending offsets, each with the record before it. */
interface Walk {
  distance: number
  offsets: number[]
  edges: Edge[]
}

/** Facts about the records of one selection. */
export class Selection {
  /** What the memory has accounted for. */
  keptBytes = 0
  bytes = SELECTION_BYTES
  /** The version at which the facts were first found. */
  private readonly since: bigint
  private readonly walks = new Map<string, Walk>()

  /**
   * @param version the latest at which they are known to hold
   * @param count how many records match
   * @param total about how many records there are in all; nothing depends on it but the way to a page
   */
  constructor(
    public version: bigint,
    readonly count: number,
    readonly total: number,
  ) {
    this.since = version
  }

  /**
   * Whether the facts held in a snapshot of `version`, when a later one shows that the version is `now` and
   * that the organizations of the selection last changed at `changed`.
   */
  heldAt(version: bigint, { now, changed }: { now: bigint; changed: bigint }): boolean {
    const held = version >= this.since && now >= version && changed <= this.version
    if (held && now > this.version) this.version = now
    return held
  }

  /** The remembered place in this order that is nearest before `offset`: skip from there. */
  nearest(order: string, offset: number): { offset: number; edge: Edge | undefined } {
    const walk = this.walks.get(order)
    const index = walk ? lastAtMost(walk.offsets, offset) : -1
    return { offset: walk?.offsets[index] ?? 0, edge: walk?.edges[index] }
  }

  /** `edge` is the record before `offset` in this order. */
  note(order: string, offset: number, edge: Edge): void {
    const walk = this.walks.get(order) ?? { distance: EDGE_DISTANCE, offsets: [], edges: [] }
    const index = lastAtMost(walk.offsets, offset) + 1
    const before = walk.offsets[index - 1] ?? 0
    const after = walk.offsets[index] ?? Number.POSITIVE_INFINITY
    if (offset - before < walk.distance || after - offset < walk.distance) return
    this.walks.set(order, walk)
    walk.offsets.splice(index, 0, offset)
    walk.edges.splice(index, 0, edge)
    this.bytes += edgeBytes(edge)
    if (walk.edges.length > MOST_EDGES) this.thin(walk)
  }

  private thin(walk: Walk): void {
    const isKept = (_: unknown, index: number) => index % 2 === 1
    for (const edge of walk.edges.filter((_, index) => index % 2 === 0)) this.bytes -= edgeBytes(edge)
    walk.distance *= 2
    walk.offsets = walk.offsets.filter(isKept)
    walk.edges = walk.edges.filter(isKept)
  }
}

const edgeBytes = ({ key, id }: Edge) => EDGE_BYTES + 2 * (key.length + id.length)

/** The index of the last of ascending `numbers` that is at most `limit`; -1 when there is none. */
function lastAtMost(numbers: number[], limit: number): number {
  let low = 0
  let high = numbers.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] as number) <= limit) low = middle + 1
    else high = middle
  }
  return low - 1
}
