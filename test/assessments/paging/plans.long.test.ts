import { beforeAll, describe, expect, test } from 'bun:test'
import type { Filter, ListQuery } from '../../../src/contract.ts'
import type { Scope } from '../../support/oracle.ts'
import {
  type ExplainedPage,
  INDEX,
  indexes,
  indexesOfRecords,
  nodes,
  PAGE,
  type Plan,
  recordsRead,
  types,
} from './explain.ts'
import { PRODUCTS_35, RECORDS, scopeOf, useManyRecords } from './many-records.ts'
import { EACH_SORT, ORDERS, SORTED } from './questions.ts'

/**
 * The plans of pages, as the service sends them, with the settings of its connections: 100,000 records, of which a scope of
 * 400 of 500 organizations has some two thirds.
 */

const many = useManyRecords()
let broad: Scope
let records: number

beforeAll(async () => {
  const found = await scopeOf(
    many,
    many.organizations.filter((_, at) => at % 5 !== 0),
  )
  ;({ scope: broad, records } = found)
  expect(records).toBeWithin(RECORDS / 2, RECORDS)
})

/** A record of each product tells the name of the first and of the last. */
const NAMES = 2 * PRODUCTS_35.length

async function explain(query: Partial<ListQuery>, visited: number[] = [], scope = broad) {
  const explained = await many.explainer.explain(scope, query, visited)
  // At the default work_mem: nothing of the size of a long list is kept.
  const written = explained.whole.filter(node => (node['Temp Written Blocks'] ?? 0) > 0)
  expect(written.map(node => [node['Node Type'], node['Subplan Name'], node['Relation Name']])).toEqual([])
  return explained
}

const relations = (plan: Plan) => nodes(plan).flatMap(node => node['Relation Name'] ?? [])

/** Expects that records are found along the index of the sort, and no more than these are read. */
function expectWalk(
  { near }: ExplainedPage,
  { sort, order }: Pick<ListQuery, 'sort' | 'order'>,
  most: number,
) {
  expect(types(near).filter(type => type.includes('Sort'))).toEqual([])
  const [scan] = near.filter(node => node['Index Name'] === INDEX[sort])
  expect(scan).toMatchObject({ 'Scan Direction': order === 'ASC' ? 'Forward' : 'Backward' })
  expect(recordsRead(near)).toBeLessThan(most + NAMES)
  return scan
}

describe.each(SORTED)('of a long list that is remembered, by $sort $order,', sorted => {
  test('the first page is walked', async () => {
    expectWalk(await explain(sorted, [0]), sorted, 3 * PAGE)
  })

  test.each([0.2, 0.9])('the next page of a walk at %d begins at its cursor', async depth => {
    const offset = Math.floor(records * depth)
    const scan = expectWalk(await explain({ ...sorted, offset }, [offset - PAGE]), sorted, 3 * PAGE)
    expect(scan?.['Index Cond']).toContain('ROW(')
  })

  test.each([0.4, 0.9])('a jump to %d passes the records before it', async depth => {
    const offset = Math.floor(records * depth)
    const explained = await explain({ ...sorted, offset }, [0])
    expectWalk(explained, sorted, 2 * offset)
    // Their documents are not read.
    expect(types(explained.near)).toContain('Index Only Scan')
  })

  test('the last page comes to the end of the list', async () => {
    const offset = records - 37
    expectWalk(await explain({ ...sorted, offset }, [offset - PAGE]), sorted, RECORDS / 50)
  })

  test('a page past the end reads no record, and one that ends the list reads none more', async () => {
    for (const visited of [[0], [0, records + PAGE]]) {
      const { near } = await explain({ ...sorted, offset: records + PAGE }, visited)
      expect(recordsRead(near)).toBe(0)
    }
    const { near } = await explain({ ...sorted, offset: records }, [records - PAGE])
    expect(recordsRead(near)).toBeLessThan(RECORDS / 50 + NAMES)
  })

  /** Filters that leave more records than are sorted, and how many are passed for each that matches. */
  const WIDE: [string, Filter, number][] = [
    ['active educators', { user_record_status: ['active'] }, 1.1],
    ['archived educators', { user_record_status: ['archived'] }, 16],
    ['records of a prior system', { legacy_record: [true] }, 10],
    ['the days until 2020', { end_date: '2020-12-31' }, 2],
    ['the days from 2020 on', { start_date: '2020-01-01' }, 2],
    ['a search that finds products', { search: 'product' }, 1],
    ['a search that finds people', { search: 'ab' }, 5],
    ['ten products', { product_ids: PRODUCTS_35.slice(0, 10).map(String) }, 4],
  ]
  test.each(WIDE)(
    'the pages of %s are walked, from the start and from a cursor',
    async (_, filter, share) => {
      const most = 6 * share * PAGE
      const isDay =
        sorted.sort === 'certified_on' || !Object.keys(filter).some(name => name.endsWith('_date'))
      for (const offset of [0, 3000]) {
        const explained = await explain({ ...sorted, filter, offset }, [Math.max(0, offset - PAGE)])
        // Names stand at random beside the days, and days in their order.
        if (isDay) expectWalk(explained, sorted, most)
        else expectWalk(explained, sorted, 4 * most)
      }
    },
  )
})

/** Filters that leave few records, and the index that finds them. */
const NARROW: [string, Filter, string][] = [
  ['a user', { user_ids: ['77'] }, 'export_records_user_id'],
  ['50 users', { user_ids: Array.from({ length: 50 }, (_, n) => `${n * 300}`) }, 'export_records_user_id'],
  ['a seid', { seids: ['S-77'] }, 'export_records_seid'],
  ['a proctor', { proctor_ids: ['7'] }, 'export_records_proctor_ids'],
  ['a rare search', { search: 'abcde' }, 'export_records_user_id'],
  ['a search of two words', { search: 'abcd cdef' }, 'export_records_user_id'],
]
test.each(NARROW)(
  'the first page and the next one of %s read an index of what they look for, and few other records',
  async (_, filter, index) => {
    for (const sorted of EACH_SORT)
      for (const visited of [[], [0]]) {
        const { whole } = await explain({ ...sorted, filter }, visited)
        expect(indexesOfRecords(whole)).toContain(index)
        expect(recordsRead(whole)).toBeLessThan(RECORDS / 50 + 2 * NAMES)
      }
  },
)

test('the pages of some days read the index of days at any depth', async () => {
  const filter = { start_date: '2018-01-01', end_date: '2018-01-31' }
  for (const order of ORDERS)
    for (const [offset, visited] of [
      [0, []],
      [PAGE, [0]],
      [200, [0]],
    ] as const) {
      const { whole } = await explain({ order, offset, filter }, [...visited])
      expect(indexesOfRecords(whole)).toContain('export_records_certified_on')
      expect(recordsRead(whole)).toBeLessThan(RECORDS / 25)
    }
})

/** The number of organizations, and the rank by size of the first. */
const FEW: [number: number, rank: number][] = [
  [1, 0],
  [1, 300],
  [3, 20],
  [3, 490],
  [30, 400],
]
test.each(FEW)(
  'for %d organizations from rank %d on, few records of others are read',
  async (number, rank) => {
    const { scope, records, all } = await scopeOf(many, many.organizations.slice(rank, rank + number))
    for (const sorted of EACH_SORT)
      for (const visited of [[], [0]]) {
        const { near } = await explain(sorted, visited, scope)
        expect(recordsRead(near)).toBeLessThan(Math.max(all, (2 * PAGE * RECORDS) / records) + NAMES + 10)
      }
  },
)

test('in a scope of few records, a search looks at each of them, and at no other person', async () => {
  const { scope, records } = await scopeOf(many, many.organizations.slice(300, 303))
  for (const search of ['a', 'abcde', 'product']) {
    const { whole } = await explain({ filter: { search } }, [], scope)
    expect(indexes(whole.filter(node => node['Actual Loops'] > 0))).not.toContain('export_people_names_key')
    expect(recordsRead(whole)).toBeLessThan(20 * records)
  }
})

test.each<[string, Filter]>([
  ['400 of 500 organizations', {}],
  ['250 of these organizations', { organization_ids: Array.from({ length: 250 }, (_, n) => `${2 * n}`) }],
  ['one product of these organizations', { product_ids: ['7'] }],
])(
  'the count of %s is a sum of export_counts, and only the records of the page are read',
  async (_, filter) => {
    const { whole } = await explain({ filter })
    const counted = whole.find(node => node['Subplan Name'] === 'CTE counted')
    expect(counted && relations(counted)).toContain('export_counts')
    expect(counted && relations(counted)).not.toContain('export_records')
    expect(recordsRead(whole)).toBeLessThan(RECORDS / 10)
  },
)

test.each<[string, Filter]>([
  ['a rare search', { search: 'abcde' }],
  ['a few days', { start_date: '2018-01-01', end_date: '2018-01-02', legacy_record: [true] }],
])('a jump far past the end of %s of which nothing is remembered walks nowhere', async (_, filter) => {
  for (const sorted of EACH_SORT) {
    const { near } = await explain({ ...sorted, filter, offset: 50_000 })
    expect(recordsRead(near)).toBeLessThan(NAMES + 1)
  }
})

test('a jump into a list of which nothing is remembered, and its search, write no temporary file', async () => {
  for (const sorted of EACH_SORT)
    for (const filter of [{}, { search: 'a' }, { start_date: '2016-01-01' }])
      await explain({ ...sorted, filter, offset: Math.floor(records * 0.8) })
})
