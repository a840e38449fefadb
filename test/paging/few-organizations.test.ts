import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Filter, ORDERS, SORTS } from '../../src/assessments/parameters.ts'
import { Explainer, heapFetches, type IdScope, indexes, PAGE, readsAll, recordsRead } from './explain.ts'
import { type ManyRecords, openManyRecords, PRODUCTS_35, RECORDS } from './many-records.ts'

/**
 * The hard middle: a few of 500 organizations, too many for one index entry after the other and too few for
 * a walk through everybody's records. What is read must depend on the few, not on the whole.
 */

/** Postgres rounds what each of the three organizations' loops read on average. */
const ROUNDING = 3

let many: ManyRecords
let explainer: Explainer

beforeAll(async () => {
  many = await openManyRecords()
  explainer = await Explainer.create(many.url, many.sql)
})

afterAll(async () => {
  await explainer?.end()
  await many?.close()
})

/** Three organizations from a place in the order of size on, and 35 of the 40 products. */
function three(at: number): { scope: IdScope; records: number } {
  const chosen = many.organizations.slice(at, at + 3)
  return {
    scope: { organizationIds: chosen.map(row => row.id), productIds: PRODUCTS_35 },
    records: chosen.reduce((sum, row) => sum + row.records, 0),
  }
}

const sorts = SORTS.flatMap(sort => ORDERS.map(order => ({ sort, order })))

describe.each(sorts)('three of 500 organizations by $sort $order', ({ sort, order }) => {
  test.each([20, 100, 250, 490])(
    'of rank %d are read by an index of organizations, and nobody else',
    async at => {
      const { scope, records } = three(at)
      const middle = Math.floor(records / 2)
      for (const [offset, visited] of [
        [0, []],
        [middle, []],
        [middle, [0]],
        [middle, [Math.max(0, middle - PAGE)]],
      ] as [number, number[]][]) {
        const { page, whole } = await explainer.explain(scope, { sort, order, offset }, visited)
        expect(readsAll(whole)).toBe(false)
        expect(indexes(page).join()).toMatch(/^export_records_organization_\w+$/)
        expect(recordsRead(page)).toBeLessThanOrEqual(records + ROUNDING)
        // The page, its documents, and the count.
        expect(recordsRead(whole)).toBeLessThanOrEqual(2 * records + PAGE + ROUNDING)
        expect(heapFetches(whole)).toBe(0)
      }
    },
  )
})

test('three of the largest organizations never take a tenth of all', async () => {
  for (const { sort, order } of sorts) {
    const { scope, records } = three(2)
    for (const offset of [0, Math.floor(records / 2)]) {
      const { page, whole } = await explainer.explain(scope, { sort, order, offset })
      expect(readsAll(whole)).toBe(false)
      expect(recordsRead(page)).toBeLessThan(RECORDS / 10)
    }
  }
})

describe('within three of 500 organizations, whatever else is asked,', () => {
  const filters: [string, Filter][] = [
    ['days', { start_date: '2018-01-01', end_date: '2018-12-31' }],
    ['a user', { user_ids: ['77'] }],
    ['a seid', { seids: ['S-77'] }],
    ['a proctor', { proctor_ids: ['7'] }],
    ['active educators', { user_record_status: ['active'] }],
    ['native records', { legacy_record: [false] }],
    ['a rare search', { search: 'zzz' }],
    ['a common search', { search: 'product' }],
    ['a product', { product_ids: ['7'] }],
  ]
  test.each(filters)('%s: no more is read than these hold', async (_, filter) => {
    for (const { sort, order } of sorts) {
      const { scope, records } = three(100)
      const { whole } = await explainer.explain(scope, { sort, order, filter })
      expect(readsAll(whole)).toBe(false)
      expect(recordsRead(whole)).toBeLessThanOrEqual(2 * records + PAGE + ROUNDING)
    }
  })
})
