import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Cursor } from '../../src/assessments/cursor.ts'
import { extentOf, offsetOf, runOf } from '../../src/assessments/page-arithmetic.ts'
import { PageMemory } from '../../src/assessments/page-memory.ts'
import { Selection } from '../../src/assessments/selection.ts'
import { holds } from '../support/property.ts'

type Sorted = Parameters<Selection['nearest']>[0]
const ORDER: Sorted = { sort: 'user_name', order: 'ASC' }
const SPREAD = {
  records: 0,
  ofOrganizations: 0,
  ofOthers: 0,
  ofProducts: 0,
  all: 0,
  organizationCount: 1,
  productCount: 1,
}
const MARK = { position: 20_000, tag: 'a tag' }

/** A cursor whose key and id name its offset, with a mark at a position of the log of changes. */
const cursorAt = (offset: number, position = MARK.position): Cursor => ({
  offset,
  key: `key of ${offset}`,
  id: String(offset),
  mark: { position, tag: 'a tag' },
})

/** A selection of a million records that has noted cursors at these offsets, in this order. */
function selection(...offsets: number[]): Selection {
  const made = new Selection(1_000_000, false, SPREAD)
  made.mark = MARK
  for (const offset of offsets) made.noteCursor(ORDER, cursorAt(offset))
  return made
}

/** The length of a list, as its snapshot knows it. */
const lengthOf = ({ count, isKept, knowsEnd }: Selection) => ({ count, isCertain: !isKept, knowsEnd })

/**
 * Where reading a page of 100 records starts (the offset of a cursor, or an end), and how many records are
 * skipped.
 */
function entered(
  made: Selection,
  offset: number,
  order: Sorted = ORDER,
): { at: number | string; skip: number } {
  const extent = extentOf(offset, 100, lengthOf(made))
  const entry = made.nearest(order, extent)
  const run = runOf(entry, offsetOf(entry, made.count), extent)
  expect(run).toBeDefined()
  return { at: typeof entry === 'object' ? entry.offset : entry, skip: run?.skip ?? 0 }
}

describe('reading a page starts', () => {
  test('at the nearer end if no cursor is remembered', () => {
    expect(entered(selection(), 0)).toEqual({ at: 'start', skip: 0 })
    expect(entered(selection(), 400_000)).toEqual({ at: 'start', skip: 400_000 })
    expect(entered(selection(), 600_000)).toEqual({ at: 'end', skip: 399_900 })
    expect(entered(selection(), 2_000_000)).toEqual({ at: 'end', skip: 0 })
  })

  test('at the nearest cursor, before or after the page', () => {
    const some = selection(1000, 2000)
    expect(entered(some, 1000)).toEqual({ at: 1000, skip: 0 })
    expect(entered(some, 1100)).toEqual({ at: 1000, skip: 100 })
    expect(entered(some, 1800)).toEqual({ at: 2000, skip: 100 })
    expect(entered(some, 1900)).toEqual({ at: 2000, skip: 0 })
    expect(entered(some, 1950)).toEqual({ at: 1000, skip: 950 })
  })

  test('at the cursor after the page if the page was read before', () => {
    expect(entered(selection(500_100), 500_000)).toEqual({ at: 500_100, skip: 0 })
  })

  test('only at a cursor of the same order', () => {
    expect(entered(selection(1000), 1000, { sort: 'user_name', order: 'DESC' })).toEqual({
      at: 'start',
      skip: 1000,
    })
  })

  test('never at a cursor older than the log of changes', () => {
    const made = selection()
    made.noteCursor(ORDER, cursorAt(1000, MARK.position - 10_000))
    made.noteCursor(ORDER, cursorAt(3000, MARK.position - 9_999))
    expect(entered(made, 1000)).toEqual({ at: 'start', skip: 1000 })
    expect(entered(made, 3000)).toEqual({ at: 3000, skip: 0 })
  })

  test('at an exact cursor even for the largest allowed offset', () => {
    const far = Number.MAX_SAFE_INTEGER
    const made = selection(far - 1000, far)
    made.count = far
    expect(entered(made, far - 1000)).toEqual({ at: far - 1000, skip: 0 })
    expect(entered(made, far - 901)).toEqual({ at: far - 1000, skip: 99 })
  })
})

describe('cursors', () => {
  test('within 50 records are merged into the newest', () => {
    const made = selection(1000, 1049, 1050)
    expect(entered(made, 1049)).toEqual({ at: 1049, skip: 0 })
    expect(entered(made, 1000)).toEqual({ at: 'start', skip: 1000 })
    expect(entered(made, 1050)).toEqual({ at: 1050, skip: 0 })
    const bytes = made.bytes
    made.noteCursor(ORDER, cursorAt(1049, 20_500))
    expect(made.bytes).toBe(bytes)
    expect(made.nearest(ORDER, extentOf(1049, 100, lengthOf(made)))).toEqual(cursorAt(1049, 20_500))
  })

  test('of a walk by pages of one record stay few, forward and backward', () => {
    const forward = Array.from({ length: 10_000 }, (_, at) => at + 1)
    for (const offsets of [forward, forward.toReversed()]) {
      const made = selection(...offsets)
      expect(made.bytes).toBeLessThan(500 + 401 * 300)
      for (let offset = 1000; offset < 10_000; offset += 77)
        expect(entered(made, offset).skip).toBeLessThan(50)
    }
  })

  test('are thinned beyond their limit, and leave at most two pages to skip', () => {
    const made = selection(...Array.from({ length: 45_000 }, (_, page) => 20 * 50 + page * 50))
    made.count = 10_000_000
    for (let offset = 1000; offset <= 45_000 * 50; offset += 7777)
      expect(entered(made, offset).skip).toBeLessThan(200)
    expect(made.bytes).toBeLessThan(20_001 * 300)
  })

  test('are counted in bytes after thinning', () => {
    const made = selection()
    for (let page = 1; page <= 20_001; page++)
      made.noteCursor(ORDER, { ...cursorAt(page * 50), key: 'x'.repeat(page % 2), id: '' })
    // The second, the fourth and so on of the 20,001 cursors remain. Their keys are empty.
    expect(made.bytes - selection().bytes).toBe(10_000 * 140)
  })

  test('give the same nearest entry as a plain list, in any order of insertion', async () => {
    const property = fc.property(
      fc.uniqueArray(
        fc.nat(2000).map(n => n * 50),
        { maxLength: 60 },
      ),
      fc.array(fc.nat(110_000), { maxLength: 40 }),
      (offsets, requested) => {
        const made = selection(...offsets)
        for (const offset of requested) {
          // A page lies on one side of the cursor from which it is read.
          const beyond = (at: number) => (at >= offset + 100 ? at - offset - 100 : Number.POSITIVE_INFINITY)
          const skips = offsets.map(at => (at <= offset ? offset - at : beyond(at)))
          expect(entered(made, offset).skip).toBe(Math.min(offset, 1_000_000 - offset - 100, ...skips))
        }
      },
    )
    await holds(property, { runs: 200, thorough: 2000 })
  })

  test('count at least the bytes of their texts', () => {
    const made = selection()
    const before = made.bytes
    made.noteCursor(ORDER, { ...cursorAt(1000), key: 'x'.repeat(500) })
    expect(made.bytes - before).toBeGreaterThan(1000)
  })
})

test('a count that writers keep says where the end is only after a page of the same mark has found the end', () => {
  const made = new Selection(1_000_000, true, SPREAD)
  made.mark = MARK
  const entryAt = (offset: number) => made.nearest(ORDER, extentOf(offset, 100, lengthOf(made)))
  expect([made.knowsEnd, entryAt(900_000)]).toEqual([false, 'start'])
  made.noteEnd()
  expect([made.knowsEnd, entryAt(900_000)]).toEqual([true, 'end'])
  made.mark = { position: MARK.position + 1, tag: 'a later tag' }
  expect([made.knowsEnd, entryAt(900_000)]).toEqual([false, 'start'])
})

test('A page memory drops the selections that were used longest ago, and counts what they have grown', () => {
  const memory = new PageMemory(undefined, 20_000)
  const note = (scope: string, selection = new Selection(1_000_000, false, SPREAD)) => {
    memory.notePage(scope, {}, selection, { count: 1_000_000, mark: MARK, isNew: true })
    return selection
  }
  const kept = () => ['a', 'b', 'c'].filter(scope => memory.selectionOf(scope, {}))
  const grown = note('a')
  note('b')
  expect(kept()).toEqual(['a', 'b'])
  for (let page = 1; page <= 60; page++) grown.noteCursor(ORDER, cursorAt(page * 100))
  note('a', grown)
  expect(kept()).toEqual(['a', 'b'])
  for (let page = 61; page <= 110; page++) grown.noteCursor(ORDER, cursorAt(page * 100))
  note('a', grown)
  expect(grown.bytes).toBeWithin(19_000, 20_000)
  note('b')
  note('c')
  expect(kept()).toEqual(['b', 'c'])
})

test('a selection that another request has replaced does not come back', () => {
  const memory = new PageMemory()
  const [contradicted, counted] = [selection(), selection()]
  const note = (made: Selection, isNew: boolean) =>
    memory.notePage('a scope', {}, made, { count: made.count, mark: MARK, isNew })
  note(contradicted, true)
  note(counted, true)
  note(contradicted, false)
  expect(memory.selectionOf('a scope', {})).toBe(counted)
  note(counted, false)
  expect(memory.selectionOf('a scope', {})).toBe(counted)
})
