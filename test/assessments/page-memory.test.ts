import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Cursor, List } from '../../src/assessments/list.ts'
import { listKey, PageMemory } from '../../src/assessments/page-memory.ts'
import { holds } from '../support/property.ts'
import { ORDERS, SORTS } from './paging/questions.ts'

type Sorted = Parameters<List['cursorBefore']>[0]
const ORDER: Sorted = { sort: 'user_name', order: 'ASC' }

/** A cursor whose key and id name its offset. */
const cursorAt = (offset: number): Cursor => ({ offset, key: `key of ${offset}`, id: String(offset) })

/** A list of a million records that has noted cursors at these offsets, in this order. */
function list(...offsets: number[]): List {
  const made = new List('a version', 1_000_000, true)
  for (const offset of offsets) made.noteCursor(ORDER, cursorAt(offset))
  return made
}

/** How many records are skipped to a page. */
const skipped = (made: List, offset: number, order = ORDER) =>
  offset - (made.cursorBefore(order, offset)?.offset ?? 0)

describe('a page is read from', () => {
  test('the start if no cursor is before it', () => {
    expect(list().cursorBefore(ORDER, 400_000)).toBeUndefined()
    expect(list(1000).cursorBefore(ORDER, 999)).toBeUndefined()
  })

  test('the last cursor before it, of the same order', () => {
    const some = list(1000, 2000)
    expect(skipped(some, 1000)).toBe(0)
    expect(skipped(some, 1999)).toBe(999)
    expect(skipped(some, 5000)).toBe(3000)
    expect(some.cursorBefore({ sort: 'user_name', order: 'DESC' }, 5000)).toBeUndefined()
  })

  test('the same cursor as in a plain list of them, whatever the order in which they came', async () => {
    const property = fc.property(
      fc.uniqueArray(
        fc.integer({ min: 1, max: 2000 }).map(n => n * 100),
        { maxLength: 60 },
      ),
      fc.array(fc.nat(220_000), { maxLength: 40 }),
      (offsets, requested) => {
        const made = list(...offsets)
        for (const offset of requested)
          expect(skipped(made, offset)).toBe(
            Math.min(offset, ...offsets.filter(at => at <= offset).map(at => offset - at)),
          )
      },
    )
    await holds(property, { runs: 200, thorough: 2000 })
  })
})

describe('cursors', () => {
  test('of a walk by pages of one record stay few, forward and backward', () => {
    const forward = Array.from({ length: 10_000 }, (_, at) => at + 1)
    for (const offsets of [forward, forward.toReversed()]) {
      const made = list(...offsets)
      const at = Array.from({ length: 10_000 }, (_, offset) => made.cursorBefore(ORDER, offset)?.offset)
      expect(new Set(at).size).toBeWithin(190, 202)
    }
  })

  test('of a list that is walked by 50 in all orders are thinned, and each page has one near before it', () => {
    const made = list()
    const orders = SORTS.flatMap(sort => ORDERS.map(order => ({ sort, order })))
    for (const order of orders)
      for (let offset = 50; offset <= 1_000_000; offset += 50) made.noteCursor(order, cursorAt(offset))
    expect(made.bytes).toBeWithin(1_000_000, 4 * 1024 * 1024)
    for (const order of orders)
      for (let offset = 777; offset < 1_000_000; offset += 77_777)
        expect(skipped(made, offset, order)).toBeLessThan(1000)
  })

  test('count at least the bytes of their texts', () => {
    const made = list()
    const before = made.bytes
    made.noteCursor(ORDER, { ...cursorAt(1000), key: 'x'.repeat(500) })
    expect(made.bytes - before).toBeGreaterThan(1000)
  })
})

describe('a page memory', () => {
  /** Reads a list, of which this is known then. */
  const read = (memory: PageMemory, key: string, known: List | undefined) =>
    memory.read(key, async () => ({ list: known }), {})
  /** The list that is remembered. */
  async function remembered(memory: PageMemory, key: string): Promise<List | undefined> {
    const { list } = await memory.read(key, async list => ({ list }), {})
    return list
  }

  test('forgets the lists that were used longest ago, and counts what they have grown', async () => {
    // Three quarters of it are for lists.
    const memory = new PageMemory(undefined, 24_000)
    const grown = list()
    await read(memory, 'a', grown)
    await read(memory, 'b', list())
    for (let page = 1; page <= 50; page++) grown.noteCursor(ORDER, cursorAt(page * 100))
    await read(memory, 'a', grown)
    expect(await remembered(memory, 'b')).toBeDefined()
    for (let page = 51; page <= 99; page++) grown.noteCursor(ORDER, cursorAt(page * 100))
    expect(grown.bytes).toBeWithin(17_400, 18_000)
    await read(memory, 'a', grown)
    expect(await remembered(memory, 'b')).toBeUndefined()
    for (const key of ['c', 'd', 'e']) await read(memory, key, list())
    const kept = await Promise.all(['a', 'c', 'd', 'e'].map(key => remembered(memory, key)))
    expect(kept.map(list => list !== undefined)).toEqual([false, true, true, true])
  })

  test('keeps the largest of all lists', async () => {
    const memory = new PageMemory()
    const large = list()
    for (const sort of SORTS)
      for (const order of ORDERS)
        for (let offset = 50; offset <= 1_000_000; offset += 50)
          large.noteCursor({ sort, order }, cursorAt(offset))
    await read(memory, 'a', large)
    expect(await remembered(memory, 'a')).toBe(large)
  })

  test('forgets a list of which nothing is right, and no other that was counted meanwhile', async () => {
    const memory = new PageMemory()
    const [wrong, counted] = [list(), list()]
    memory.note('a', wrong)
    await read(memory, 'a', undefined)
    expect(await remembered(memory, 'a')).toBeUndefined()
    memory.note('a', wrong)
    const { promise, resolve } = Promise.withResolvers<void>()
    const late = memory.read('a', () => promise.then(() => ({ list: undefined })), {})
    memory.note('a', counted)
    resolve()
    await late
    expect(await remembered(memory, 'a')).toBe(counted)
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
