import { beforeAll, describe, expect, test } from 'bun:test'
import type { Filter } from '../../src/contract.ts'
import type { Scope } from '../support/oracle.ts'
import {
  heapFetches,
  indexes,
  indexesOfRecords,
  type Plan,
  readsAll,
  recordsRead,
  rowsRead,
} from './paging/explain.ts'
import { ORGANIZATIONS, PRODUCTS, PRODUCTS_35, RECORDS, useManyRecords } from './paging/many-records.ts'

/** The plans of counts. */

const many = useManyRecords()
const ids = Array.from({ length: ORGANIZATIONS }, (_, n) => n + 1).filter(id => id % 5 > 0)
const BROAD: Scope = { organizations: ids, products: PRODUCTS_35 }
/** Organizations with less than a half of the records. */
const SMALLER = ids.filter(id => id > 150)
/** A product that is named in another way than all others. */
const OTHER = PRODUCTS
/** Products without records. */
const UNUSED = Array.from({ length: 20 }, (_, n) => 1000 + n)

/** The statement has three branches, of which one is executed. */
const executed = (plan: Plan[]) => plan.filter(node => node['Actual Loops'] > 0)

describe('a count', () => {
  const plan = async (scope: Scope, filter: Filter) => {
    const { count } = await many.explainer.explain(scope, { filter })
    return { whole: count }
  }

  test.each<[string, Filter]>([
    ['days', { start_date: '2024-01-01' }],
    ['archived educators', { user_record_status: ['archived'] }],
    ['native records', { legacy_record: [false] }],
  ])('of %s reads an index that has days, and compares the sets with constants', async (_, filter) => {
    const { whole } = await plan(BROAD, filter)
    expect(new Set(indexesOfRecords(whole))).toEqual(new Set(['export_records_certified_on']))
    expect(heapFetches(whole)).toBe(0)
    // Postgres makes hash tables of such arrays.
    expect(JSON.stringify(whole)).toContain("product_id = ANY ('{1,2,3,")
  })

  test.each<[string, Filter, number]>([
    ['a product by its whole name', { search: 'product 17' }, 0],
    ['all products', { search: 'product' }, 0],
    ['a person', { search: 'abcde' }, RECORDS / 100],
  ])('of a search for %s reads the records of people alone', async (_, filter, most) => {
    const { whole } = await plan(BROAD, filter)
    expect(readsAll(whole)).toBe(false)
    expect(indexes(whole)).toContain('export_people_names_key')
    expect(new Set([...indexesOfRecords(whole), 'export_records_user_id'])).toEqual(
      new Set(['export_records_user_id']),
    )
    expect(recordsRead(whole)).toBeLessThanOrEqual(most)
  })

  test('of a search for two letters, which few people have, reads the people once, and their records by index', async () => {
    const { whole } = await plan(BROAD, { search: 'ab' })
    expect(readsAll(whole)).toBe(false)
    expect(indexes(whole)).not.toContain('export_people_names_key')
    expect(new Set(indexesOfRecords(executed(whole)))).toEqual(new Set(['export_records_user_id']))
    expect(recordsRead(whole)).toBeLessThan(RECORDS)
  })

  test('of a search for a letter that most people have reads the records of the organizations once', async () => {
    const { whole } = await plan({ ...BROAD, organizations: SMALLER }, { search: 'a' })
    expect(indexesOfRecords(executed(whole))).toEqual(['export_records_organization_id'])
    expect(heapFetches(whole)).toBe(0)
    expect(recordsRead(whole)).toBeWithin(RECORDS / 10, RECORDS / 2)
  })

  test('of a search for a letter that most products have reads the records of the other products alone', async () => {
    const { whole } = await plan({ ...BROAD, products: [...PRODUCTS_35, OTHER] }, { search: 'd' })
    expect(indexesOfRecords(executed(whole))).toContain('export_records_product_name')
    expect(heapFetches(whole)).toBe(0)
    expect(recordsRead(whole)).toBeWithin(1, RECORDS / 20)
  })

  test.each<[string, Filter, string]>([
    ['users', { user_ids: ['77', '78'] }, 'export_records_user_id'],
    ['seids', { seids: ['S-77'] }, 'export_records_seid'],
    ['proctors', { proctor_ids: ['7'] }, 'export_records_proctor_ids'],
  ])('of %s reads their index', async (_, filter, index) => {
    const { whole } = await plan(BROAD, filter)
    expect(indexesOfRecords(whole)).toEqual([index])
    expect(recordsRead(whole)).toBeLessThan(RECORDS / 50)
  })

  test('from a day on reads the records from it or before it, whichever are fewer', async () => {
    // A tenth of the records is before the first day, and a tenth is after the second.
    for (const start_date of ['2016-02-05', '2024-11-10']) {
      const { whole } = await plan(BROAD, { start_date })
      expect(recordsRead(whole)).toBeLessThan(RECORDS / 8)
    }
  })

  const FEW = { ...BROAD, organizations: [401, 402, 403] }

  test('of few organizations reads their records alone', async () => {
    const { whole } = await plan(FEW, { start_date: '2016-01-01' })
    expect(readsAll(whole)).toBe(false)
    expect(recordsRead(whole)).toBeLessThan(RECORDS / 50)
  })

  test.each<[string, Filter, number]>([
    ['without filters reads the kept counts of its organizations alone', {}, 3 * PRODUCTS],
    ['of a user reads no kept count', { user_ids: ['77'] }, 0],
  ])('of few organizations %s', async (_, filter, most) => {
    const { whole } = await plan(FEW, filter)
    expect(rowsRead(whole, 'export_counts')).toBeLessThanOrEqual(most)
    expect(rowsRead(whole, 'export_counts') > 0).toBe(most > 0)
  })
})

beforeAll(async () => {
  await many.database.sql`update export_products set name_key = 'lab' where product_id = ${OTHER}`
  await many.database.sql`update export_records set product_name_key = 'lab' where product_id = ${OTHER}`
  // As a service in use: the index of the products is vacuumed, too.
  await many.database.sql`vacuum (freeze) export_records`
})

describe('with records of three products', () => {
  const few = useManyRecords()
  beforeAll(async () => {
    await few.database.sql`update export_records set product_id = 1 + product_id % 3`
    await few.database.sql`vacuum (full, freeze, analyze) export_records`
    await few.database.sql`vacuum (freeze) export_records`
  })

  test('a search for a letter looks up products without records by their index', async () => {
    const scope = { ...BROAD, products: [...PRODUCTS_35, ...UNUSED] }
    const { count } = await few.explainer.explain(scope, { filter: { search: 'd' } })
    expect(recordsRead(count)).toBeLessThan(RECORDS / 20)
  })
})
