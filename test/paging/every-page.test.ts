import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { PageMemory } from '../../src/assessments/page-memory.ts'
import { ORDERS } from '../../src/assessments/parameters.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { ASKED_SORTS, type Asked, History, readBody, type Scope } from './plain.ts'
import { partsOf, wayOf } from './statements.ts'
import { EMPTY, PRODUCTS, reset } from './world.ts'

/**
 * Every page in every order, found in each of the three ways and entered from everywhere: whatever is known,
 * the answer is the one of plain OFFSET and count(*).
 */

const RECORDS = 201

/** A scope for each way to a page once its count is known. */
const WAYS: { way: 'few' | 'most' | 'planned'; scope: Scope }[] = [
  { way: 'few', scope: { organizations: [2, 5], products: [1, 2, 3] } },
  { way: 'most', scope: { organizations: [1, 2, 3, 4, 6], products: [1, 2, 4] } },
  { way: 'planned', scope: { organizations: [1, 4, ...EMPTY], products: [1, 3, 4] } },
]

let database: TestDatabase
let pool: Sql
let history: History
let sent: string[] = []

beforeAll(async () => {
  database = await openTestDatabase('postgres')
  pool = postgres(database.url, { max: 1, debug: (_connection, text) => sent.push(text) })
  await reset(database.sql, RECORDS)
  await database.sql`analyze export_records`
  history = new History(database.sql)
  await history.start()
  await history.record(0)
})
afterAll(async () => {
  await pool?.end()
  await database?.close()
})

const orders = ASKED_SORTS.flatMap(sort => ORDERS.map(order => ({ sort, order })))

/** What a page asked of the database, after it was compared with the plain one. */
async function compare(memory: PageMemory, scope: Scope, asked: Asked, offset: number): Promise<string[]> {
  sent = []
  const body = await readBody(pool, memory, scope, asked, offset)
  const texts = sent.filter(text => text.includes('as documents'))
  expect({ asked, offset, body }).toEqual({
    asked,
    offset,
    body: await history.page(0, scope, asked, offset),
  })
  return texts
}

describe.each(WAYS)('by the way "$way"', ({ way, scope }) => {
  let count: number
  beforeAll(async () => {
    const body = await history.page(0, scope, { sort: 'user_name', order: 'ASC', filter: 0, size: 1 }, 0)
    count = Number(/"count":(\d+)/.exec(body)?.[1])
  })

  test.each(orders)('each page by $sort $order is right, from an empty memory', async ({ sort, order }) => {
    for (const size of [7, 50, 100]) {
      for (let offset = 0; offset <= count + size; offset += size) {
        const texts = await compare(new PageMemory(), scope, { sort, order, filter: 0, size }, offset)
        expect(partsOf(texts)).toEqual(['start and count'])
      }
    }
  })

  test.each(orders)('each page by $sort $order is right, when the count alone is known', async asked => {
    const entries = new Set<string>()
    for (const size of [1, 7, 50, 100]) {
      for (let offset = 0; offset <= count + 3; offset += 3) {
        const memory = new PageMemory()
        // Another order knows the count, and no place in this one.
        const other = { ...asked, order: asked.order === 'ASC' ? ('DESC' as const) : ('ASC' as const) }
        await readBody(pool, memory, scope, { ...other, filter: 0, size: 100 }, 0)
        const texts = await compare(memory, scope, { ...asked, filter: 0, size }, offset)
        const limit = Math.min(size, Math.max(0, count - offset))
        const isNearEnd = limit > 0 && count - offset - limit < offset
        expect(partsOf(texts)).toEqual([isNearEnd ? 'end' : 'start'])
        expect(texts.map(wayOf)).toEqual([way])
        entries.add(isNearEnd ? 'end' : 'start')
      }
    }
    expect([...entries].sort()).toEqual(['end', 'start'])
  })

  test.each(orders)('a walk by $sort $order is right, forward and back', async ({ sort, order }) => {
    for (const size of [1, 7, 50, 60, 100]) {
      const memory = new PageMemory()
      const asked = { sort, order, filter: 0, size }
      const offsets = Array.from({ length: Math.ceil(count / size) + 1 }, (_, page) => page * size)
      for (const offset of offsets) await compare(memory, scope, asked, offset)
      for (const offset of offsets.reverse()) await compare(memory, scope, asked, offset)
      // Between the remembered places.
      for (const offset of offsets) await compare(memory, scope, asked, offset + 3)
    }
  })

  test.each(orders)('what a page from the end by $sort $order leaves is right for the next', async asked => {
    for (const size of [50, 60]) {
      const memory = new PageMemory()
      const question = { ...asked, filter: 0, size }
      await compare(memory, scope, question, 0)
      for (let offset = count - 1; offset > 0; offset -= 11) {
        await compare(memory, scope, question, offset)
        await compare(memory, scope, question, offset + size)
      }
    }
  })
})

describe('a filter', () => {
  const scope = { organizations: [1, 2, 3, 4], products: PRODUCTS }

  // The filters of plain.ts: one with an index of its own, days, and a search.
  test.each([5, 2, 4, 6, 12, 13, 14])(
    '(number %d) gives the right pages from the start, behind and from the end',
    async filter => {
      const parts = new Set<string>()
      for (const { sort, order } of orders) {
        const memory = new PageMemory()
        for (const offset of [0, 50, 51, 1, 40, 60, 100, 120, 50, 20, 0]) {
          for (const part of partsOf(await compare(memory, scope, { sort, order, filter, size: 50 }, offset)))
            parts.add(part)
        }
      }
      expect([...parts]).toEqual(expect.arrayContaining(['start and count', 'end']))
    },
  )
})
