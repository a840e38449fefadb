import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Place, Selection } from '../../src/assessments/page-memory.ts'
import { LruCache } from '../../src/lru-cache.ts'
import { holds } from '../support/property.ts'

const ORDER = 'user_name ASC'
const MOMENT = { position: 20_000, tag: 'a tag' }

/** A place that tells where it belongs, of a moment. */
const placeAt = (offset: number, position = MOMENT.position): Place => ({
  offset,
  key: `key of ${offset}`,
  id: String(offset),
  moment: { position, tag: 'a tag' },
})

/** A selection of a million records with places at these offsets, noted in this order. */
function selection(...offsets: number[]): Selection {
  const made = new Selection(2_000_000)
  Object.assign(made, { count: 1_000_000, moment: MOMENT })
  for (const offset of offsets) made.notePlace(ORDER, placeAt(offset))
  return made
}

/** Where a page of 100 records is entered: the offset of the place, or which end. */
function entered(made: Selection, offset: number, order = ORDER): { at: number | string; skip: number } {
  const { from, skip } = made.nearest(order, offset, 100)
  return { at: typeof from === 'object' ? from.offset : from, skip }
}

describe('a page is entered', () => {
  test('at the start or at the end where no place is remembered, whichever is nearer', () => {
    expect(entered(selection(), 0)).toEqual({ at: 'start', skip: 0 })
    expect(entered(selection(), 400_000)).toEqual({ at: 'start', skip: 400_000 })
    expect(entered(selection(), 600_000)).toEqual({ at: 'end', skip: 399_900 })
    expect(entered(selection(), 2_000_000)).toEqual({ at: 'end', skip: 0 })
  })

  test('at a place before it or after it, whichever is nearer', () => {
    const some = selection(1000, 2000)
    expect(entered(some, 1000)).toEqual({ at: 1000, skip: 0 })
    expect(entered(some, 1100)).toEqual({ at: 1000, skip: 100 })
    expect(entered(some, 1800)).toEqual({ at: 2000, skip: 100 })
    expect(entered(some, 1950)).toEqual({ at: 2000, skip: 0 })
  })

  test('at the place after it, once it has been read, so that it can be read again', () => {
    expect(entered(selection(500_100), 500_000)).toEqual({ at: 500_100, skip: 0 })
  })

  test('at a place of its own order alone', () => {
    expect(entered(selection(1000), 1000, 'user_name DESC')).toEqual({ at: 'start', skip: 1000 })
  })

  test('at no place that the log of changes can no longer correct', () => {
    const made = selection()
    made.notePlace(ORDER, placeAt(1000, MOMENT.position - 10_000))
    made.notePlace(ORDER, placeAt(3000, MOMENT.position - 9_999))
    expect(entered(made, 1000)).toEqual({ at: 'start', skip: 1000 })
    expect(entered(made, 3000)).toEqual({ at: 3000, skip: 0 })
  })

  test('exactly up to the largest offset that a client may send', () => {
    const far = Number.MAX_SAFE_INTEGER
    const made = selection(far - 1000, far)
    made.count = far
    expect(entered(made, far - 1000)).toEqual({ at: far - 1000, skip: 0 })
    expect(entered(made, far - 901)).toEqual({ at: far - 1000, skip: 99 })
  })
})

describe('places', () => {
  test('of the same 50 records share one, which is the newest', () => {
    const made = selection(1000, 1049, 1050)
    expect(entered(made, 1049)).toEqual({ at: 1049, skip: 0 })
    expect(entered(made, 1000)).toEqual({ at: 1049, skip: 0 })
    expect(entered(made, 1050)).toEqual({ at: 1050, skip: 0 })
    const bytes = made.bytes
    made.notePlace(ORDER, placeAt(1049, 20_500))
    expect(made.bytes).toBe(bytes)
    expect(made.nearest(ORDER, 1049, 100).from).toEqual(placeAt(1049, 20_500))
  })

  test('of pages of one record are a trail of few, walking forward and back', () => {
    const forward = Array.from({ length: 10_000 }, (_, at) => at + 1)
    for (const offsets of [forward, forward.toReversed()]) {
      const made = selection(...offsets)
      expect(made.bytes).toBeLessThan(500 + 401 * 300)
      for (let offset = 1000; offset < 10_000; offset += 77)
        expect(entered(made, offset).skip).toBeLessThan(50)
    }
  })

  test('are thinned past the most that are kept, and leave no more than two pages to skip', () => {
    const made = selection(...Array.from({ length: 45_000 }, (_, page) => 20 * 50 + page * 50))
    made.count = 10_000_000
    for (let offset = 1000; offset <= 45_000 * 50; offset += 7777)
      expect(entered(made, offset).skip).toBeLessThan(200)
    expect(made.bytes).toBeLessThan(20_001 * 300)
  })

  test('cost as many bytes as the ones that are left after thinning', () => {
    const made = selection()
    for (let page = 1; page <= 20_001; page++)
      made.notePlace(ORDER, { ...placeAt(page * 50), key: 'x'.repeat(page % 2), id: '' })
    // Of 20,001 the second, the fourth and so on, whose key is empty.
    expect(made.bytes - selection().bytes).toBe(10_000 * 140)
  })

  test('are the nearest ones of a plain list, in whatever order they were noted', async () => {
    const property = fc.property(
      fc.uniqueArray(
        fc.nat(2000).map(n => n * 50),
        { maxLength: 60 },
      ),
      fc.array(fc.nat(110_000), { maxLength: 40 }),
      (offsets, asked) => {
        const made = selection(...offsets)
        for (const offset of asked) {
          const skips = offsets.map(at => (at <= offset ? offset - at : Math.max(0, at - offset - 100)))
          expect(entered(made, offset).skip).toBe(Math.min(offset, 1_000_000 - offset - 100, ...skips))
        }
      },
    )
    await holds(property, { runs: 200, thorough: 2000 })
  })

  test('cost at least their texts', () => {
    const made = selection()
    const before = made.bytes
    made.notePlace(ORDER, { ...placeAt(1000), key: 'x'.repeat(500) })
    expect(made.bytes - before).toBeGreaterThan(1000)
  })
})

test('a Recent is a plain list of the last used entries that fit into the budget, for any operations', async () => {
  const action = fc.record({
    kind: fc.constantFrom('set' as const, 'get' as const, 'delete' as const),
    key: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    size: fc.nat(6),
  })
  const property = fc.property(fc.array(action, { maxLength: 120 }), fc.nat(15), (actions, budget) => {
    const recent = new LruCache<number>(budget)
    let plain: { key: string; value: number; size: number }[] = []
    for (const [value, { kind, key, size }] of actions.entries()) {
      const entry = plain.find(entry => entry.key === key)
      plain = plain.filter(other => other !== entry)
      if (kind === 'set') {
        recent.set(key, value, size)
        plain.push({ key, value, size })
        while (plain.reduce((sum, entry) => sum + entry.size, 0) > budget) plain.shift()
      } else if (kind === 'get') {
        expect(recent.get(key)).toBe(entry?.value)
        if (entry) plain.push(entry)
      } else recent.delete(key)
    }
    for (const key of ['a', 'b', 'c', 'd', 'e'])
      expect(recent.get(key)).toBe(plain.find(entry => entry.key === key)?.value)
  })
  await holds(property, { runs: 300, thorough: 3000 })
})
