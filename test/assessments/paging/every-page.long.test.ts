import { beforeAll, describe, expect, test } from 'bun:test'
import { PageMemory } from '../../../src/assessments/page-memory.ts'
import { type Oracle, parseRequest, type Scope } from '../../support/oracle.ts'
import { readOracle } from '../../support/stored-platform.ts'
import { useDatabase } from './database.ts'
import { SORTED_ALL, useWay, WALKED } from './limits.ts'
import {
  EACH_SORT,
  FILTERS,
  issueTokens,
  type ListParameters,
  readBody,
  rightPage,
  SORTED,
} from './questions.ts'
import { kindsOf } from './statements.ts'
import { EMPTY, PRODUCTS } from './world.ts'

/**
 * Every page in every order equals the oracle, for each way to find records, each entry,
 * and whatever is remembered.
 */

const RECORDS = 201

/** Page sizes, and the distance between two pages. */
const SIZES = [1, 7, 60, 100]
const STEP = 30

/** Whether all lists are sorted, or none. Of the walked ones, the first scope has most records, and the other has not. */
const WAYS: { way: string; few: number; scope: Scope }[] = [
  { way: 'sorted', few: SORTED_ALL, scope: { organizations: [2, 5], products: [1, 2, 3] } },
  {
    way: 'walked with its documents',
    few: WALKED,
    scope: { organizations: [1, 2, 3, 4, 6], products: [1, 2, 4] },
  },
  { way: 'walked', few: WALKED, scope: { organizations: [1, 4, ...EMPTY], products: [1, 3, 4] } },
]

const SOME: Scope = { organizations: [1, 2, 3, 4], products: PRODUCTS }

const db = useDatabase(RECORDS)
let oracle: Oracle

beforeAll(async () => {
  await issueTokens(db.sql, ...WAYS.map(({ scope }) => scope), SOME)
  await db.sql`analyze export_records`
  oracle = await readOracle(db.sql)
})

/** Compares a page with the oracle, and returns the statements that read the page. */
async function compare(
  memory: PageMemory,
  scope: Scope,
  parameters: ListParameters,
  offset: number,
): Promise<string[]> {
  db.sent = []
  const body = await readBody(db.pool, memory, scope, parameters, offset)
  const texts = [...db.sent]
  expect({ parameters, offset, body }).toEqual({
    parameters,
    offset,
    body: rightPage(oracle, scope, parameters, offset),
  })
  return texts
}

describe.each(WAYS)('$way,', ({ way, few, scope }) => {
  useWay(few)
  let count: number
  beforeAll(() => {
    count = oracle.documents(scope, { lists: {} }).length
  })

  test.each(EACH_SORT)(
    'every page by $sort $order is right if nothing is remembered',
    async ({ sort, order }) => {
      for (const size of SIZES.filter(size => size > 1)) {
        for (let offset = 0; offset <= count + size; offset += size) {
          const texts = await compare(new PageMemory(), scope, { sort, order, filter: 0, size }, offset)
          expect(kindsOf(texts)).toEqual(['kept'])
        }
      }
    },
  )

  test.each(SORTED)('every page by $sort $order is right if only the count is known', async parameters => {
    for (const size of SIZES) {
      for (let offset = 0; offset <= count + STEP; offset += STEP) {
        const memory = new PageMemory()
        // A request in the other order leaves the count, but no cursor in this order.
        const other = {
          ...parameters,
          order: parameters.order === 'ASC' ? ('DESC' as const) : ('ASC' as const),
        }
        await readBody(db.pool, memory, scope, { ...other, filter: 0, size: 100 }, 0)
        const texts = await compare(memory, scope, { ...parameters, filter: 0, size }, offset)
        expect(kindsOf(texts)).toEqual([way === 'sorted' ? way : 'start'])
        expect(texts.some(text => /\) as record\b/.test(text))).toBe(way !== 'walked with its documents')
      }
    }
  })

  test.each(SORTED)('a walk by $sort $order is right, forward and backward', async ({ sort, order }) => {
    for (const size of SIZES) {
      const memory = new PageMemory()
      const parameters = { sort, order, filter: 0, size }
      const offsets = Array.from({ length: Math.ceil(count / size) + 1 }, (_, page) => page * size)
      for (const offset of offsets) await compare(memory, scope, parameters, offset)
      for (const offset of offsets.reverse()) await compare(memory, scope, parameters, offset)
      // Offsets between the remembered cursors.
      for (const offset of offsets) await compare(memory, scope, parameters, offset + 3)
    }
  })
})

describe('a filter', () => {
  useWay(WALKED)
  // Indexes of FILTERS: days, legacy records, and searches.
  test.each([2, 4, 12, 13, 14])(
    '(number %d) gives right pages from the start and from a cursor',
    async filter => {
      const parts = new Set<string>()
      const isLong = oracle.documents(SOME, parseRequest(FILTERS[filter] ?? '')).length > 50
      for (const { sort, order } of EACH_SORT) {
        const memory = new PageMemory()
        for (const offset of [0, 50, 51, 1, 40, 60, 100, 120, 50, 20, 0]) {
          for (const part of kindsOf(await compare(memory, SOME, { sort, order, filter, size: 50 }, offset)))
            parts.add(part)
        }
      }
      expect([...parts]).toEqual(expect.arrayContaining(['counted', 'start', ...(isLong ? ['cursor'] : [])]))
    },
  )
})
