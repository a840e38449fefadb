import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Entry } from '../../src/assessments/cursor.ts'
import {
  areSame,
  corrected,
  extentOf,
  offsetOf,
  runOf,
  shifted,
} from '../../src/assessments/page-arithmetic.ts'
import { holds } from '../support/property.ts'

/** The arithmetic of pages, compared with lists of numbers. */

const cursorAt = (offset: number): Entry => ({ offset, key: '', id: '', mark: { position: 1, tag: '' } })

type Run = NonNullable<ReturnType<typeof runOf>>

/** Reads a run from an ascending list, beside the entry up to which `at` elements come. */
function readRun(list: number[], at: number, { side, skip, size }: Run): number[] {
  if (side === 'after') return list.slice(at + skip, at + skip + size)
  const before = list.slice(0, at).reverse()
  return before.slice(skip, skip + size).reverse()
}

/** A count of records that were counted in the snapshot, or one whose end was not found. */
const lengthOf = (count: number, isCertain: boolean) => ({ count, isCertain, knowsEnd: isCertain })

const list = fc.uniqueArray(fc.nat(300), { maxLength: 60 }).map(all => all.sort((a, b) => a - b))

describe('the run of a page', () => {
  test('is the page, from any entry that the page does not lie around', async () => {
    const property = fc.property(
      list,
      fc.nat(70),
      fc.integer({ min: 1, max: 20 }),
      fc.nat(60),
      (all, offset, limit, n) => {
        const extent = extentOf(offset, limit, lengthOf(all.length, offset % 2 === 0))
        for (const entry of ['start', 'end', cursorAt(Math.min(n, all.length))] as Entry[]) {
          const at = offsetOf(entry, all.length)
          const run = runOf(entry, at, extent)
          const size = entry === 'end' ? extent.shown : extent.read
          if (!run) expect(extent.offset < at && at < extent.offset + size).toBe(true)
          else expect(readRun(all, at, run)).toEqual(all.slice(offset, offset + limit))
        }
      },
    )
    await holds(property, { runs: 300, thorough: 3000 })
  })

  test('shows a count that is too low or too high, on the last page of a walk', async () => {
    const property = fc.property(list, fc.nat(70), fc.integer({ min: 1, max: 20 }), (all, count, limit) => {
      fc.pre(count !== all.length)
      // A walk as contract L7 describes it, with a wrong count.
      const found = []
      for (let offset = 0; offset === 0 || offset < count; offset += limit) {
        const extent = extentOf(offset, limit, lengthOf(count, false))
        const run = runOf(cursorAt(offset), offset, extent) as Run
        found.push(readRun(all, offset, run).length === extent.shown)
      }
      expect(found).toContain(false)
    })
    await holds(property, { runs: 300, thorough: 3000 })
  })

  test('reads one record more only where the page reaches a count that is not certain', () => {
    expect(extentOf(0, 100, lengthOf(1000, false))).toEqual({ offset: 0, shown: 100, read: 100 })
    expect(extentOf(900, 100, lengthOf(1000, false))).toEqual({ offset: 900, shown: 100, read: 101 })
    expect(extentOf(950, 100, lengthOf(1000, false))).toEqual({ offset: 950, shown: 50, read: 51 })
    expect(extentOf(0, 100, lengthOf(0, false))).toEqual({ offset: 0, shown: 0, read: 1 })
    expect(extentOf(5000, 100, lengthOf(1000, false))).toEqual({ offset: 1000, shown: 0, read: 1 })
    const found = { count: 1000, isCertain: false, knowsEnd: true }
    expect(extentOf(5000, 100, found)).toEqual({ offset: 1000, shown: 0, read: 0 })
    expect(extentOf(950, 100, found)).toEqual({ offset: 950, shown: 50, read: 51 })
    expect(extentOf(950, 100, lengthOf(1000, true))).toEqual({ offset: 950, shown: 50, read: 50 })
    expect(extentOf(0, 100, lengthOf(0, true))).toEqual({ offset: 0, shown: 0, read: 0 })
  })
})

describe('a correction', () => {
  /** A list before and after changes, and a cursor at an element of the first one, which may be gone. */
  const changed = fc.record({ before: list.filter(all => all.length > 0), after: list, n: fc.nat(59) })

  test('gives the count and the offset of the cursor in the changed list', async () => {
    const property = fc.property(changed, ({ before, after, n }) => {
      const cursor = before[n % before.length] as number
      const upTo = (all: number[]) => all.filter(element => element <= cursor).length
      const gone = before.filter(element => !after.includes(element)).map(element => ({ element, delta: -1 }))
      const come = after.filter(element => !before.includes(element)).map(element => ({ element, delta: 1 }))
      const sum = (rows: { delta: number }[]) => rows.reduce((total, { delta }) => total + delta, 0)
      const rows = [...gone, ...come]
      const moved = (isMoved: (element: number) => boolean) => ({
        counted: sum(rows),
        moved: sum(rows.filter(({ element }) => isMoved(element))),
      })
      const entry = cursorAt(upTo(before))
      expect(
        corrected(
          { count: before.length, entry },
          moved(element => element <= cursor),
        ),
      ).toEqual({
        count: after.length,
        at: upTo(after),
      })
      expect(
        corrected(
          { count: before.length, entry: 'start' },
          moved(() => false),
        ),
      ).toEqual({
        count: after.length,
        at: 0,
      })
      expect(
        corrected(
          { count: before.length, entry: 'end' },
          moved(() => true),
        ),
      ).toEqual({
        count: after.length,
        at: after.length,
      })
    })
    await holds(property, { runs: 300, thorough: 3000 })
  })

  test('shows whether the run that a statement has shifted is the page of the changed list', async () => {
    const property = fc.property(
      changed,
      fc.nat(70),
      fc.integer({ min: 1, max: 20 }),
      fc.constantFrom('start', 'cursor', 'end'),
      (lists, offset, limit, kind) => {
        const { before, after, n } = lists
        const cursor = before[n % before.length] as number
        const upTo = (all: number[]) => all.filter(element => element <= cursor).length
        const entry = kind === 'cursor' ? cursorAt(upTo(before)) : kind
        const at = offsetOf(entry, before.length)
        const atNow = kind === 'cursor' ? upTo(after) : offsetOf(entry, after.length)
        const run = runOf(entry, at, extentOf(offset, limit, lengthOf(before.length, false)))
        fc.pre(run !== undefined)
        const read = shifted(run as Run, { counted: after.length - before.length, moved: atNow - at })
        const now = runOf(entry, atNow, extentOf(offset, limit, lengthOf(after.length, false)))
        if (areSame(read, now))
          expect(readRun(after, atNow, read as Run)).toEqual(after.slice(offset, offset + limit))
        // Without changes it always is.
        if (String(before) === String(after)) expect(areSame(read, now)).toBe(true)
      },
    )
    await holds(property, { runs: 300, thorough: 3000 })
  })

  const NONE = { counted: 0, moved: 0 }
  test.each([
    ['fewer records than none would match', { ...NONE, counted: -11 }],
    ['more records than match would come up to the cursor', { ...NONE, moved: 6 }],
    ['fewer records than none would come up to the cursor', { ...NONE, moved: -6 }],
  ])('is impossible if %s', (_, changes) => {
    expect(corrected({ count: 10, entry: cursorAt(5) }, changes)).toBeUndefined()
    expect(corrected({ count: 10, entry: cursorAt(5) }, NONE)).toEqual({ count: 10, at: 5 })
  })
})
