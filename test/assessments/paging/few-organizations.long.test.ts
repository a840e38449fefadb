import { describe, expect, test } from 'bun:test'
import type { Filter } from '../../../src/contract.ts'
import { heapFetches, indexes, PAGE, type Place, readsAll, recordsRead } from './explain.ts'
import { RECORDS, scopeOf, useManyRecords } from './many-records.ts'
import { EACH_SORT, SORTED } from './questions.ts'

/**
 * For a scope of a few of 500 organizations, few records of the others are read: the records of the scope are gathered by
 * the index of organizations, or the index of the sort is walked, as it costs less.
 */

const many = useManyRecords()
const few = (number: number, rank: number) => scopeOf(many, many.organizations.slice(rank, rank + number))

/** The possible error of the sum: Postgres rounds the average number of rows per loop. */
const roundingOf = (number: number) => (number === 1 ? 0 : number)

/** The number of organizations, and the rank by size of the first. */
const FEW: [number: number, rank: number][] = [
  [1, 0],
  [1, 300],
  [3, 20],
  [3, 100],
  [3, 490],
  [30, 10],
  [30, 400],
]

describe.each(SORTED)('by $sort $order', parameters => {
  test.each(FEW)(
    '%d organizations from rank %d on are read with few records of others, from the start, a cursor and the end',
    async (number, rank) => {
      const { scope, records, all } = await few(number, rank)
      const middle = Math.floor(records / 2)
      const places: Place[] = [
        [0, []],
        [middle, [Math.max(0, middle - PAGE)]],
        [records - 7, [0]],
      ]
      for (const [offset, visited] of places) {
        const { whole, page } = await many.explainer.explain(scope, { ...parameters, offset }, visited)
        expect(readsAll(whole)).toBe(false)
        expect(heapFetches(page)).toBe(0)
        if (indexes(page).includes('export_records_organization_id'))
          expect(recordsRead(page)).toBeLessThanOrEqual(all + roundingOf(number))
        else expect(recordsRead(page)).toBeLessThan(Math.min(RECORDS / 2, (3 * PAGE * RECORDS) / records))
      }
    },
  )
})

test.each(SORTED)(
  'by $sort $order, a jump into the middle of one or three organizations reads their records alone',
  async parameters => {
    for (const [number, rank] of FEW.filter(([number]) => number <= 3)) {
      const { scope, records, all } = await few(number, rank)
      const offset = Math.floor(records / 2)
      const { whole, page } = await many.explainer.explain(scope, { ...parameters, offset }, [0])
      expect(readsAll(whole)).toBe(false)
      expect(recordsRead(page)).toBeLessThanOrEqual(all + roundingOf(number))
    }
  },
)

test.each(SORTED)(
  'by $sort $order, a product that an organization does not use is looked for in the organization',
  async parameters => {
    const { scope, all } = await few(1, 400)
    const [unused] = await many.database.sql<{ id: string }[]>`
      select id from generate_series(1, 35) as id
      where id <> all (select product_id from export_records where organization_id = any (${scope.organizations}))
      order by id`
    const { whole } = await many.explainer.explain(scope, {
      ...parameters,
      filter: { product_ids: [String(unused?.id)] },
    })
    expect(unused).toBeDefined()
    expect(recordsRead(whole)).toBeLessThanOrEqual(all)
  },
)

test('a product that no organization uses is looked for by the product', async () => {
  const { scope } = await scopeOf(many, many.organizations)
  const products = [...scope.products, 999]
  const { whole } = await many.explainer.explain({ ...scope, products }, { filter: { product_ids: ['999'] } })
  expect(recordsRead(whole)).toBe(0)
})

describe('within three of 500 organizations, any filter reads only the records of these:', () => {
  test.each<[string, Filter]>([
    ['days', { start_date: '2018-01-01', end_date: '2018-12-31' }],
    ['a user', { user_ids: ['77'] }],
    ['a seid', { seids: ['S-77'] }],
    ['a proctor', { proctor_ids: ['7'] }],
    ['active educators', { user_record_status: ['active'] }],
    ['native records', { legacy_record: [false] }],
    ['a rare search', { search: 'zzz' }],
    ['a common search', { search: 'product' }],
    ['a product', { product_ids: ['7'] }],
  ])('%s', async (_, filter) => {
    const { scope, all } = await few(3, 100)
    for (const parameters of EACH_SORT) {
      const { whole } = await many.explainer.explain(scope, { ...parameters, filter })
      expect(readsAll(whole)).toBe(false)
      expect(recordsRead(whole)).toBeLessThanOrEqual(2 * all + PAGE + roundingOf(3))
    }
  })
})
