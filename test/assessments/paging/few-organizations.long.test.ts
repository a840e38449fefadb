import { describe, expect, test } from 'bun:test'
import type { Filter } from '../../../src/contract.ts'
import { heapFetches, indexes, PAGE, type Place, readsAll, recordsRead } from './explain.ts'
import { RECORDS, scopeOf, useManyRecords } from './many-records.ts'
import { EACH_SORT, SORTED } from './questions.ts'

/**
 * For a scope of a few of 500 organizations, the number of records read must depend on the scope and not on
 * the whole. Three organizations are the hardest case: too many to read their index entries one by one, and
 * too few to walk an index with the records of all.
 */

const many = useManyRecords()
const few = (number: number, rank: number) => scopeOf(many, many.organizations.slice(rank, rank + number))

/** The possible error of the sum: Postgres rounds the average number of rows per loop. */
const roundingOf = (number: number) => (number === 1 ? 0 : number)

/**
 * The number of organizations, the rank by size of the first, and how many records of other organizations
 * may be read: few are less than a quarter of all records.
 */
const FEW: [number: number, rank: number, others: 'none' | 'few'][] = [
  ...[0, 300].map((rank): [number, number, 'none'] => [1, rank, 'none']),
  ...[20, 100, 490].map((rank): [number, number, 'none'] => [3, rank, 'none']),
  ...[10, 400].map((rank): [number, number, 'few'] => [30, rank, 'few']),
]

describe.each(SORTED)('by $sort $order', parameters => {
  test.each(FEW)(
    '%d organizations from rank %d on are read with %s of the records of others, from the start, a cursor and the end',
    async (number, rank, others) => {
      const { scope, records, all } = await few(number, rank)
      const middle = Math.floor(records / 2)
      const places: Place[] = [
        [0, []],
        [middle, [0]],
        [middle, [Math.max(0, middle - PAGE)]],
        [records - 7, [0]],
      ]
      // For many organizations, a far page without a cursor walks an index with the records of all.
      if (others === 'none') places.push([middle, []])
      for (const [offset, visited] of places) {
        const { whole, page } = await many.explainer.explain(scope, { ...parameters, offset }, visited)
        expect(readsAll(whole)).toBe(false)
        expect(heapFetches(page)).toBe(0)
        if (others === 'few') {
          expect(recordsRead(page)).toBeLessThan(RECORDS / 4)
          continue
        }
        expect([...new Set(indexes(page))].join()).toMatch(/^export_records_organization_\w+$/)
        expect(recordsRead(page)).toBeLessThanOrEqual(all + roundingOf(number))
        // Only the records and documents of the page are read: the count reads no record.
        expect(recordsRead(whole)).toBeLessThanOrEqual(all + PAGE + roundingOf(number))
      }
    },
  )

  test('the scan of the largest organization stops at a full page, and three large ones read less than a tenth of all', async () => {
    const largest = await few(1, 0)
    const { page } = await many.explainer.explain(largest.scope, parameters)
    expect(recordsRead(page)).toBeLessThan(2 * PAGE)
    const { scope, records } = await few(3, 2)
    for (const offset of [0, Math.floor(records / 2)]) {
      const { page, whole } = await many.explainer.explain(scope, { ...parameters, offset })
      expect(readsAll(whole)).toBe(false)
      expect(recordsRead(page)).toBeLessThan(RECORDS / 10)
    }
  })
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
