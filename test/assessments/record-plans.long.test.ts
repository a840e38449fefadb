import { beforeAll, describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { constraints } from '../../src/assessments/constraints.ts'
import { countMatches } from '../../src/assessments/count.ts'
import { type Beside, recordsBeside } from '../../src/assessments/records.ts'
import { GIVEN_SETS, SETS_OF_TOKEN, type Sets, type SetsInSql } from '../../src/assessments/scope.ts'
import { readSpread } from '../../src/assessments/spread.ts'
import type { Way } from '../../src/assessments/ways.ts'
import type { Filter } from '../../src/contract.ts'
import { statement } from '../../src/database/statement.ts'
import {
  type Explained,
  heapFetches,
  indexes,
  indexesOfRecords,
  readsAll,
  recordsRead,
} from './paging/explain.ts'
import { ORGANIZATIONS, PRODUCTS_35, RECORDS, useManyRecords } from './paging/many-records.ts'
import { SORTED } from './paging/questions.ts'

/** The plans of counts, and of the records beside an entry by each way. */

const many = useManyRecords()
const ids = Array.from({ length: ORGANIZATIONS }, (_, n) => n + 1).filter(id => id % 5 > 0)
const BROAD: Sets = { organizations: `{${ids}}`, products: `{${PRODUCTS_35}}` }
/** The records of the product are a fortieth of all, and four fifths of them match. */
const RARE: Sets = { organizations: BROAD.organizations, products: '{7}' }
const OF_PRODUCT = RECORDS / 40

/** The plan of 100 records of some sets after a cursor, in the first tenth of the order of days. */
async function explained(
  way: Way,
  sorted: (typeof SORTED)[number],
  inSql: SetsInSql,
  sets: Sets,
): Promise<Explained> {
  const cursor = {
    certified_on: '2020-01-01',
    user_name: 'user 8',
    proctor_name: 'proctor 8',
    product_name: 'product 7',
  }
  const beside: Beside = { ...sorted, way, filters: [], side: 'after', hasCursor: true }
  const { organizations, products } = GIVEN_SETS
  const text = sql`
    select near.id
    from (select ${organizations} || '{}' as organizations, ${products} || '{}' as products offset 0) as token
    cross join lateral (${recordsBeside(beside, inSql, sql`100`, sql`1000`)}
    ) as near limit 100`
  const run = statement<Record<string, unknown>, object>(text, false)
  const plans = await many.explainer.explainSent(db =>
    run(db, { ...sets, key: cursor[sorted.sort], id: RECORDS / 2 }),
  )
  return plans[0] as Explained
}

describe.each([
  ['given', GIVEN_SETS],
  ['of the token', SETS_OF_TOKEN],
])('with sets that are %s,', (_, inSql) => {
  test.each(SORTED)(
    'a page of a product by $sort $order picks the records of the product by its index',
    async sorted => {
      const { whole } = await explained('picked', sorted, inSql, RARE)
      expect(readsAll(whole)).toBe(false)
      expect(indexesOfRecords(whole)).toEqual(['export_records_product_product_name'])
      expect(recordsRead(whole)).toBeLessThan(1.2 * OF_PRODUCT)
    },
  )

  test.each(SORTED.filter(({ sort }) => sort === 'product_name'))(
    'a page of a product by its name $order reads little more than the page, from the index alone',
    async sorted => {
      const { whole } = await explained('products', sorted, inSql, RARE)
      expect(indexesOfRecords(whole)).toEqual(['export_records_product_product_name'])
      expect(heapFetches(whole)).toBe(0)
      expect(recordsRead(whole)).toBeLessThan(200)
    },
  )

  test.each(SORTED)(
    'a page of a broad scope by $sort $order reads little more than the page',
    async sorted => {
      const { whole } = await explained('along', sorted, inSql, BROAD)
      expect(indexesOfRecords(whole)).toEqual([`export_records_${sorted.sort}`])
      expect(recordsRead(whole)).toBeLessThan(300)
    },
  )
})

describe('a count', () => {
  const plan = async (sets: Sets, filter: Filter) => {
    const { filters, values } = constraints(filter)
    const plans = await many.explainer.explainSent(db => countMatches(db, sets, filters, values))
    return plans[0] as Explained
  }

  test.each<[string, Filter]>([
    ['days', { start_date: '2016-01-01' }],
    ['archived educators', { user_record_status: ['archived'] }],
    ['native records', { legacy_record: [false] }],
  ])('of %s reads an index that has days, and compares the sets with constants', async (_, filter) => {
    const { whole } = await plan(BROAD, filter)
    expect(indexesOfRecords(whole).join()).toMatch(/^export_records_(organization_)?certified_on$/)
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

  test('of a search for two letters reads the people once, and their records by index', async () => {
    const { whole } = await plan(BROAD, { search: 'ab' })
    expect(readsAll(whole)).toBe(false)
    expect(indexes(whole)).not.toContain('export_people_names_key')
    expect(new Set(indexesOfRecords(whole))).toEqual(new Set(['export_records_user_id']))
    expect(recordsRead(whole)).toBeLessThan(RECORDS)
  })

  test('of a search for one letter, which most people have in their names, reads all records once', async () => {
    const { whole } = await plan(BROAD, { search: 'a' })
    expect(whole.map(node => node['Node Type']).filter(type => type.includes('Join'))).toContain('Hash Join')
    expect(recordsRead(whole)).toBeLessThanOrEqual(RECORDS)
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

  test('of few organizations reads their records alone', async () => {
    const sets = { ...BROAD, organizations: '{400,401,402}' }
    const { whole } = await plan(sets, { start_date: '2016-01-01' })
    expect(readsAll(whole)).toBe(false)
    expect(recordsRead(whole)).toBeLessThan(RECORDS / 50)
  })

  test('of how records are spread reads none of them', async () => {
    const [plan] = await many.explainer.explainSent(db => readSpread(db, BROAD))
    expect(recordsRead(plan?.whole ?? [])).toBe(0)
  })
})

beforeAll(async () => {
  // As a service in use: the index of the products is vacuumed, too.
  await many.database.sql`vacuum export_records`
})
