import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { PageMemory, Selection } from '../src/assessments/page-memory.ts'

/** An edge that tells where it belongs. */
const edgeAt = (offset: number, suffix = '') => ({ key: `key of ${offset}${suffix}`, id: String(offset) })

const ORDER = 'user_name ASC'

/** A selection of which nothing is known yet but its version and count. */
const nothing = () => new Selection(1n, 1000, 2000)

/** A selection of one order with edges at these offsets, noted in this order. */
function selection(...offsets: number[]): Selection {
  const made = nothing()
  for (const offset of offsets) made.note(ORDER, offset, edgeAt(offset))
  return made
}

describe('the nearest remembered place', () => {
  test('is the start where nothing is remembered', () => {
    const empty = selection()
    expect(empty.nearest(ORDER, 0)).toEqual({ offset: 0, edge: undefined })
    expect(empty.nearest(ORDER, 1_000_000)).toEqual({ offset: 0, edge: undefined })
  })

  test('is the edge at the offset itself, or the last one before it, and never one behind it', () => {
    const some = selection(100, 200, 300)
    expect(some.nearest(ORDER, 200)).toEqual({ offset: 200, edge: edgeAt(200) })
    expect(some.nearest(ORDER, 199)).toEqual({ offset: 100, edge: edgeAt(100) })
    expect(some.nearest(ORDER, 1_000_000)).toEqual({ offset: 300, edge: edgeAt(300) })
    expect(some.nearest(ORDER, 99)).toEqual({ offset: 0, edge: undefined })
    expect(some.nearest(ORDER, 0)).toEqual({ offset: 0, edge: undefined })
  })

  test('is found in whatever order the edges were noted', () => {
    const some = selection(500, 100, 900, 300, 700)
    for (const offset of [100, 300, 500, 700, 900])
      expect(some.nearest(ORDER, offset + 49)).toEqual({ offset, edge: edgeAt(offset) })
  })

  test('belongs to one sort and order', () => {
    const some = selection(100)
    for (const other of ['user_name DESC', 'certified_on ASC'])
      expect(some.nearest(other, 100)).toEqual({ offset: 0, edge: undefined })
  })

  test('is exact up to the largest offset that a client may send', () => {
    const far = Number.MAX_SAFE_INTEGER
    const some = selection(far - 100, far)
    expect(some.nearest(ORDER, far)).toEqual({ offset: far, edge: edgeAt(far) })
    expect(some.nearest(ORDER, far - 1)).toEqual({ offset: far - 100, edge: edgeAt(far - 100) })
  })
})

/** How many edges are remembered below `limit`. */
function edgesBelow(made: Selection, limit: number): number[] {
  const offsets = Array.from({ length: limit }, (_, offset) => made.nearest(ORDER, offset).offset)
  return [...new Set(offsets)].filter(offset => offset > 0)
}

describe('edges', () => {
  test('closer than 50 records behind another, or behind the start, are not kept', () => {
    expect(edgesBelow(selection(49, 50, 99, 100, 149, 150), 200)).toEqual([50, 100, 150])
  })

  test('closer than 50 records before another are not kept', () => {
    expect(edgesBelow(selection(200, 151, 150, 101, 100), 250)).toEqual([100, 150, 200])
  })

  test('of pages of one record are thinned, walking forward', () => {
    const walk = Array.from({ length: 1000 }, (_, at) => at + 1)
    expect(edgesBelow(selection(...walk), 1001).length).toBeLessThanOrEqual(20)
  })

  test('of pages of one record are thinned, walking back', () => {
    const walk = Array.from({ length: 1000 }, (_, at) => 1000 - at)
    expect(edgesBelow(selection(...walk), 1001).length).toBeLessThanOrEqual(20)
  })

  test('noted twice are kept once, and cost once', () => {
    const made = selection(100)
    const bytes = made.bytes
    made.note(ORDER, 100, edgeAt(100))
    expect(made.bytes).toBe(bytes)
  })

  test('cost at least their texts, and the longer texts the more', () => {
    const bytes = (suffix: string) => {
      const made = nothing()
      const before = made.bytes
      made.note(ORDER, 100, edgeAt(100, suffix))
      return made.bytes - before
    }
    expect(bytes('')).toBeGreaterThan(2 * 'key of 100'.length)
    expect(bytes('x'.repeat(500)) - bytes('')).toBe(1000)
  })

  test('are found as in a plain list of those that were kept', () => {
    const noted = fc.array(fc.record({ offset: fc.nat(3000), order: fc.constantFrom('a ASC', 'a DESC') }), {
      maxLength: 200,
      size: 'max',
    })
    const property = fc.property(
      noted,
      fc.array(fc.nat(3500), { maxLength: 100, size: 'max' }),
      (all, asked) => {
        const made = nothing()
        const naive: Record<string, number[]> = { 'a ASC': [], 'a DESC': [] }
        for (const { offset, order } of all) {
          const distances = [0, ...(naive[order] ?? [])].map(kept => Math.abs(kept - offset))
          made.note(order, offset, edgeAt(offset, order))
          const isKept = made.nearest(order, offset).offset === offset
          // An edge is left out where another one is near, and only there.
          expect(isKept).toBe(offset === 0 || Math.min(...distances) >= 50 || distances.lastIndexOf(0) > 0)
          if (isKept && offset > 0 && !naive[order]?.includes(offset)) naive[order]?.push(offset)
        }
        for (const order of Object.keys(naive)) {
          for (const offset of asked) {
            const nearest = Math.max(0, ...(naive[order] ?? []).filter(kept => kept <= offset))
            const edge = nearest === 0 ? undefined : edgeAt(nearest, order)
            expect(made.nearest(order, offset)).toEqual({ offset: nearest, edge })
          }
        }
      },
    )
    fc.assert(property, { numRuns: 200 })
  })
})

describe('more edges than are kept', () => {
  /** Past it every other edge goes. */
  const MOST = 20_000

  /** The bytes of edges that all have texts of these lengths. */
  const edges = (count: number, texts: number) => count * (120 + 2 * texts)

  /** Edges whose texts have the same length everywhere. */
  const evenEdge = (offset: number) => ({ key: 'k'.repeat(20), id: String(offset).padStart(10, '0') })

  function walk(pages: number, size: number): Selection {
    const made = nothing()
    for (let page = 1; page <= pages; page++) made.note(ORDER, page * size, evenEdge(page * size))
    return made
  }

  const placeOf = (made: Selection, offset: number) => {
    const { offset: at, edge } = made.nearest(ORDER, offset)
    if (at > 0) expect(edge).toEqual(evenEdge(at))
    return at
  }

  test('are thinned to every other one, and not before', () => {
    const full = walk(MOST, 100)
    expect([99, 100, 101, 199, 200].map(offset => placeOf(full, offset))).toEqual([0, 100, 100, 100, 200])
    expect(full.bytes).toBe(500 + edges(MOST, 30))
    const thinned = walk(MOST + 1, 100)
    expect([199, 200, 399, 400].map(offset => placeOf(thinned, offset))).toEqual([0, 200, 200, 400])
    expect(placeOf(thinned, 1_999_999)).toBe(1_999_800)
    expect(thinned.bytes).toBe(500 + edges(MOST / 2, 30))
  })

  test('leave no more than a page or two to skip behind the nearest one, however far a walk goes', () => {
    const far = walk(3 * MOST, 50)
    for (let offset = 0; offset <= 3 * MOST * 50; offset += 777) {
      const at = placeOf(far, offset)
      expect(at).toBeLessThanOrEqual(offset)
      expect(offset - at).toBeLessThan(200)
    }
  })

  test('cost what is kept of them, to the byte, and never more than the most', () => {
    const made = nothing()
    let most = 0
    for (let page = 1; page <= 5 * MOST; page++) {
      made.note(ORDER, page * 50, evenEdge(page * 50))
      most = Math.max(most, made.bytes)
    }
    const kept = new Set<number>()
    for (let offset = 50; offset <= 5 * MOST * 50; offset += 50) kept.add(placeOf(made, offset))
    kept.delete(0)
    expect(made.bytes).toBe(500 + edges(kept.size, 30))
    expect(kept.size).toBeLessThanOrEqual(MOST)
    expect(most).toBe(500 + edges(MOST, 30))
  })

  test('of one order leave the edges of the others alone', () => {
    const made = nothing()
    made.note('user_name DESC', 100, evenEdge(100))
    for (let page = 1; page <= MOST + 1; page++) made.note(ORDER, page * 50, evenEdge(page * 50))
    expect(made.nearest('user_name DESC', 100)).toEqual({ offset: 100, edge: evenEdge(100) })
    made.note('user_name DESC', 150, evenEdge(150))
    expect(made.nearest('user_name DESC', 150).offset).toBe(150)
  })
})

describe('facts that were found at version 10', () => {
  const found = () => new Selection(10n, 1000, 2000)

  test.each<[string, bigint, { now: bigint; changed: bigint }, boolean]>([
    [
      'hold in a later snapshot, when nothing of theirs has changed since',
      12n,
      { now: 12n, changed: 9n },
      true,
    ],
    [
      'hold when their last change is the one at which they were found',
      12n,
      { now: 12n, changed: 10n },
      true,
    ],
    ['hold when others have changed even after the page', 12n, { now: 20n, changed: 10n }, true],
    ['do not hold when something of theirs has changed since', 12n, { now: 12n, changed: 11n }, false],
    [
      'do not hold when something of theirs has changed after the page',
      12n,
      { now: 13n, changed: 13n },
      false,
    ],
    ['do not hold in a database that was set back before them', 9n, { now: 9n, changed: 3n }, false],
    ['do not hold when it was set back before them and went on since', 9n, { now: 14n, changed: 3n }, false],
    ['do not hold when it was set back after the page', 12n, { now: 11n, changed: 10n }, false],
    ['do not hold when it was set back before them after the page', 12n, { now: 8n, changed: 8n }, false],
  ])('%s', (_, version, versions, holds) => {
    expect(found().heldAt(version, versions)).toBe(holds)
  })

  test('and held at a later one hold from the first to the last', () => {
    const made = found()
    expect(made.heldAt(15n, { now: 20n, changed: 10n })).toBe(true)
    expect(made.version).toBe(20n)
    // Set back, but only to a state in which they held.
    expect(made.heldAt(12n, { now: 12n, changed: 10n })).toBe(true)
    expect(made.version).toBe(20n)
    expect(made.heldAt(25n, { now: 25n, changed: 20n })).toBe(true)
    expect(made.heldAt(9n, { now: 25n, changed: 9n })).toBe(false)
  })

  test('are no longer good for anything later once they did not hold', () => {
    const made = found()
    expect(made.heldAt(12n, { now: 12n, changed: 11n })).toBe(false)
    expect(made.version).toBe(10n)
  })
})

/** What a memory keeps of these keys, in no particular order; asking for them changes which is the oldest. */
const kept = (memory: PageMemory, ...keys: string[]) => keys.filter(key => memory.recall(key) !== undefined)

describe('the memory', () => {
  const one = selection(100, 200)
  const size = one.bytes + 2 * 'a'.length

  test('gives back what was remembered under a key, and nothing under another', () => {
    const memory = new PageMemory()
    memory.remember('a', one)
    expect(memory.recall('a')).toBe(one)
    expect(memory.recall('b')).toBeUndefined()
  })

  test('keeps what fits into its budget to the byte', () => {
    const memory = new PageMemory(undefined, 2 * size)
    for (const key of ['a', 'b']) memory.remember(key, selection(100, 200))
    expect(kept(memory, 'a', 'b')).toEqual(['a', 'b'])
    const smaller = new PageMemory(undefined, 2 * size - 1)
    for (const key of ['a', 'b']) smaller.remember(key, selection(100, 200))
    expect(kept(smaller, 'a', 'b')).toEqual(['b'])
  })

  test('lets go of the selection that was used longest ago: recalling and remembering are uses', () => {
    const memory = new PageMemory(undefined, 3 * size)
    for (const key of ['a', 'b', 'c']) memory.remember(key, selection(100, 200))
    memory.recall('a')
    memory.remember('b', memory.recall('b') as Selection)
    memory.remember('d', selection(100, 200))
    expect(kept(memory, 'a', 'b', 'c', 'd')).toEqual(['a', 'b', 'd'])
    memory.remember('e', selection(100, 200))
    expect(kept(memory, 'a', 'b', 'd', 'e')).toEqual(['b', 'd', 'e'])
  })

  test('counts what a selection has grown to since it was remembered', () => {
    const memory = new PageMemory(undefined, 3 * size)
    const growing = nothing()
    memory.remember('a', selection(100, 200))
    memory.remember('b', growing)
    memory.remember('c', selection(100, 200))
    for (let offset = 100; growing.bytes <= size; offset += 100) growing.note(ORDER, offset, edgeAt(offset))
    memory.remember('b', growing)
    expect(kept(memory, 'a', 'b', 'c')).toEqual(['b', 'c'])
  })

  test('does not keep a selection that is larger than its whole budget', () => {
    const memory = new PageMemory(undefined, size - 1)
    memory.remember('a', selection(100, 200))
    expect(kept(memory, 'a')).toEqual([])
    memory.remember('b', nothing())
    expect(kept(memory, 'b')).toEqual(['b'])
  })

  test('takes in again, for its right price, a selection that it had let go of or replaced', () => {
    const memory = new PageMemory(undefined, 2 * size)
    const [first, second] = [selection(100, 200), selection(100, 200)]
    memory.remember('a', first)
    memory.remember('a', second)
    memory.remember('a', first)
    expect(memory.recall('a')).toBe(first)
    memory.remember('b', selection(100, 200))
    expect(kept(memory, 'a', 'b')).toEqual(['a', 'b'])
    memory.remember('c', selection(100, 200))
    memory.remember('a', first)
    expect(kept(memory, 'a', 'b', 'c')).toEqual(['a', 'c'])
  })

  test('is a plain list of the most recently used selections that fit, whatever is done to it', () => {
    const action = fc.record({
      kind: fc.constantFrom('remember' as const, 'recall' as const, 'grow' as const),
      key: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
      edges: fc.nat(6),
    })
    const property = fc.property(
      fc.array(action, { maxLength: 120, size: 'max' }),
      fc.integer({ min: 0, max: 4000 }),
      (actions, budget) => {
        const memory = new PageMemory(undefined, budget)
        let naive: { key: string; selection: Selection; bytes: number }[] = []
        const put = (key: string, made: Selection) => {
          memory.remember(key, made)
          naive = naive.filter(entry => entry.key !== key)
          naive.push({ key, selection: made, bytes: made.bytes + 2 * key.length })
          while (naive.reduce((sum, entry) => sum + entry.bytes, 0) > budget) naive.shift()
        }
        for (const { kind, key, edges } of actions) {
          const entry = naive.find(entry => entry.key === key)
          const offsets = Array.from({ length: edges }, (_, at) => 100 * (at + 1))
          if (kind === 'remember') put(key, selection(...offsets))
          else {
            expect(memory.recall(key)).toBe(entry?.selection as Selection)
            if (!entry) continue
            naive = [...naive.filter(other => other !== entry), entry]
            if (kind === 'recall') continue
            for (const offset of offsets) entry.selection.note(`${key} ASC`, offset + 1000, edgeAt(offset))
            put(key, entry.selection)
          }
        }
        for (const key of ['a', 'b', 'c', 'd', 'e', 'f'])
          expect(memory.recall(key)).toBe(naive.find(entry => entry.key === key)?.selection as Selection)
      },
    )
    fc.assert(property, { numRuns: 300 })
  })
})
