import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Cursor, List } from '../../src/assessments/list.ts'
import { listKey, PageMemory } from '../../src/assessments/page-memory.ts'
import { holds } from '../support/property.ts'

type Sorted = Parameters<List['nearest']>[0]
const ORDER: Sorted = { sort: 'user_name', order: 'ASC' }
const MILLION = {
  ...{ count: 1_000_000, ofScope: 1_000_000, all: 1_000_000 },
  ...{ ofOrganizations: 1_000_000, ofProducts: 1_000_000 },
}
const KNOWN = { version: 'a version', isRecorded: false, isProven: true, ...MILLION }

/** A cursor whose key and id name its offset. */
const cursorAt = (offset: number): Cursor => ({ offset, key: `key of ${offset}`, id: String(offset) })

/** A list of a million records that has noted cursors at these offsets, in this order. */
function list(...offsets: number[]): List {
  const made = new List(KNOWN)
  for (const offset of offsets) made.noteCursor(ORDER, cursorAt(offset))
  return made
}

/** Where reading a page of 100 records starts (the offset of a cursor, or an end), and how many records are skipped. */
function entered(made: List, offset: number, order: Sorted = ORDER): { at: number | string; skip: number } {
  const { cursor, isBackward, skip } = made.nearest(order, offset, 100, false)
  return { at: cursor?.offset ?? (isBackward ? 'end' : 'start'), skip }
}

describe('reading a page starts', () => {
  test('at the nearer end if no cursor is remembered', () => {
    expect(entered(list(), 0)).toEqual({ at: 'start', skip: 0 })
    expect(entered(list(), 400_000)).toEqual({ at: 'start', skip: 400_000 })
    expect(entered(list(), 600_000)).toEqual({ at: 'end', skip: 399_900 })
  })

  test('at the nearest cursor, before or after the page', () => {
    const some = list(1000, 2000)
    expect(entered(some, 1000)).toEqual({ at: 1000, skip: 0 })
    expect(entered(some, 1100)).toEqual({ at: 1000, skip: 100 })
    expect(entered(some, 1800)).toEqual({ at: 2000, skip: 100 })
    expect(entered(some, 1900)).toEqual({ at: 2000, skip: 0 })
    expect(entered(some, 1950)).toEqual({ at: 1000, skip: 950 })
  })

  test('at the cursor after the page if the page was read before', () => {
    expect(entered(list(500_100), 500_000)).toEqual({ at: 500_100, skip: 0 })
  })

  test('only at a cursor of the same order', () => {
    expect(entered(list(1000), 1000, { sort: 'user_name', order: 'DESC' })).toEqual({
      at: 'start',
      skip: 1000,
    })
  })

  test('never behind a page that looks for one record more, except at the end', () => {
    const further = (made: List, offset: number, shown: number) => made.nearest(ORDER, offset, shown, true)
    expect(further(list(400_100), 400_000, 100)).toMatchObject({ isBackward: false, skip: 400_000 })
    const unproven = new List({ ...KNOWN, isProven: false })
    unproven.noteCursor(ORDER, cursorAt(400_000))
    expect(further(unproven, 999_950, 50)).toMatchObject({ cursor: { offset: 400_000 } })
    expect(further(list(400_000), 999_950, 50)).toMatchObject({ isBackward: true, skip: 0 })
  })

  test('never at an end that is not proven', () => {
    const made = new List({ ...KNOWN, isProven: false })
    expect(entered(made, 900_000)).toEqual({ at: 'start', skip: 900_000 })
    made.isProven = true
    expect(entered(made, 900_000)).toEqual({ at: 'end', skip: 99_900 })
  })
})

describe('cursors', () => {
  test('within 50 records are merged into the newest', () => {
    const made = list(1000, 1049, 1050)
    expect(entered(made, 1049)).toEqual({ at: 1049, skip: 0 })
    expect(entered(made, 1000)).toEqual({ at: 'start', skip: 1000 })
    expect(entered(made, 1050)).toEqual({ at: 1050, skip: 0 })
    const { bytes } = made
    made.noteCursor(ORDER, cursorAt(1049))
    expect(made.bytes).toBe(bytes)
  })

  test('of a walk by pages of one record stay few, forward and backward', () => {
    const forward = Array.from({ length: 10_000 }, (_, at) => at + 1)
    for (const offsets of [forward, forward.toReversed()]) {
      const made = list(...offsets)
      expect(made.bytes).toBeLessThan(1000 + 401 * 300)
      for (let offset = 1000; offset < 10_000; offset += 77)
        expect(entered(made, offset).skip).toBeLessThan(50)
    }
  })

  test('are thinned beyond their limit, and leave at most two pages to skip', () => {
    const made = list(...Array.from({ length: 45_000 }, (_, page) => 20 * 50 + page * 50))
    for (let offset = 1000; offset <= 900_000; offset += 7777)
      expect(entered(made, offset).skip).toBeLessThan(200)
    expect(made.bytes).toBeLessThan(20_001 * 300)
  })

  test('are counted in bytes after thinning', () => {
    const made = list()
    for (let page = 1; page <= 20_001; page++)
      made.noteCursor(ORDER, { ...cursorAt(page * 50), key: 'x'.repeat(page % 2), id: '' })
    // The second, the fourth and so on of the 20,001 cursors remain. Their keys are empty.
    expect(made.bytes - list().bytes).toBe(10_000 * 140)
  })

  test('give the same nearest entry as a plain list, in any order of insertion', async () => {
    const property = fc.property(
      fc.uniqueArray(
        fc.nat(2000).map(n => n * 50),
        { maxLength: 60 },
      ),
      fc.array(fc.nat(110_000), { maxLength: 40 }),
      (offsets, requested) => {
        const made = list(...offsets)
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
    const made = list()
    const before = made.bytes
    made.noteCursor(ORDER, { ...cursorAt(1000), key: 'x'.repeat(500) })
    expect(made.bytes - before).toBeGreaterThan(1000)
  })
})

describe('a page memory', () => {
  const listed = (memory: PageMemory, key: string, made = list()) => memory.listOf(key, async () => made, {})
  /** Whether a list is remembered: otherwise it would be counted, which fails. */
  const isKept = (memory: PageMemory, key: string) =>
    memory
      .listOf(key, () => Promise.reject(new Error('not kept')), {})
      .then(
        () => true,
        () => false,
      )

  test('forgets the lists that were used longest ago, and counts what they have grown', async () => {
    // Three quarters of it are for lists.
    const memory = new PageMemory(undefined, 24_000)
    const grown = await listed(memory, 'a')
    await listed(memory, 'b')
    for (let page = 1; page <= 50; page++) grown?.noteCursor(ORDER, cursorAt(page * 100))
    if (grown) memory.noteGrowth('a', grown)
    expect([await isKept(memory, 'b'), await isKept(memory, 'a')]).toEqual([true, true])
    for (let page = 51; page <= 99; page++) grown?.noteCursor(ORDER, cursorAt(page * 100))
    expect(grown?.bytes).toBeWithin(17_400, 18_000)
    if (grown) memory.noteGrowth('a', grown)
    expect(await isKept(memory, 'b')).toBe(false)
    for (const key of ['c', 'd', 'e']) await listed(memory, key)
    const kept = await Promise.all(['a', 'c', 'd', 'e'].map(key => isKept(memory, key)))
    expect(kept).toEqual([false, true, true, true])
  })

  test('forgets the list that a page has contradicted, and no other that was counted meanwhile', async () => {
    const memory = new PageMemory()
    const [contradicted, counted] = [list(), list()]
    await listed(memory, 'a', contradicted)
    memory.forget('a', contradicted)
    memory.noteGrowth('a', contradicted)
    expect(await isKept(memory, 'a')).toBe(false)
    await listed(memory, 'a', counted)
    memory.forget('a', contradicted)
    expect(await isKept(memory, 'a')).toBe(true)
  })

  test('keeps the sets of scopes in a quarter of its bytes', () => {
    const memory = new PageMemory(undefined, 40_000)
    const sets = { organizations: `{${'1'.repeat(2000)}}`, products: '{1}' }
    for (let scope = 0; scope < 100; scope++) memory.noteSets(String(scope), sets)
    expect(
      Array.from({ length: 100 }, (_, scope) => memory.setsOf(String(scope))).filter(Boolean),
    ).toHaveLength(4)
  })

  test('has one key for a scope and a filter, in which no name can be read', () => {
    expect(listKey('a', { search: 'ruiz' })).toBe(listKey('a', { search: 'ruiz' }))
    expect(listKey('a', { search: 'ruiz' })).not.toContain('ruiz')
    const keys = [
      listKey('a', {}),
      listKey('b', {}),
      listKey('a', { search: 'ruiz' }),
      listKey('b', { search: 'ruiz' }),
    ]
    expect(new Set(keys).size).toBe(4)
  })
})
