import { beforeAll, describe, expect, test } from 'bun:test'
import type { Filter } from '../../../src/contract.ts'
import {
  type ExplainedPage,
  heapFetches,
  INDEX,
  indexesOfRecords,
  PAGE,
  type Place,
  type Plan,
  readsAll,
  recordsRead,
  types,
} from './explain.ts'
import { PRODUCTS_35, RECORDS, scopeOf, useManyRecords } from './many-records.ts'
import { EACH_SORT, ORDERS, SORTED } from './questions.ts'

/** The plans of pages at any depth, with and without cursors. */

const many = useManyRecords()
/** A scope of 400 of 500 organizations. */
let broad: Awaited<ReturnType<typeof scopeOf>>

beforeAll(async () => {
  const organizations = many.organizations.filter((_, at) => at % 5 !== 0)
  broad = await scopeOf(many, organizations)
})

/** Whether records are sorted to find the page. A scan without a sort stops at a full page. */
const isSorted = (plans: Plan[]) => types(plans).some(type => type.includes('Sort'))

interface Case {
  what: string
  /** An offset, and the offsets of pages that the service has read before. */
  at(records: number): Place
  isBackward?: true
  /** The number of records that are sent or skipped; by default one page. */
  length?(records: number): number
  /** How documents are read: from the table during the index scan, or afterwards by key. */
  documents: 'on the way' | 'by key'
}

const share = (part: number) => (records: number) => Math.floor(records * part)

const CASES: Case[] = [
  { what: 'the first page with its count', at: () => [0, []], documents: 'on the way' },
  { what: 'the first page with a known count', at: () => [0, [0]], documents: 'on the way' },
  ...[0.2, 0.9].map(
    (depth): Case => ({
      what: `a page after a remembered cursor (at ${depth})`,
      at: records => [share(depth)(records), [share(depth)(records) - PAGE]],
      documents: 'on the way',
    }),
  ),
  {
    what: 'a jump after the nearest remembered cursor',
    at: records => [share(0.4)(records), [0]],
    length: share(0.4),
    documents: 'by key',
  },
  {
    what: 'a jump into the far half, from the end,',
    at: records => [share(0.8)(records), [0]],
    length: records => records - share(0.8)(records),
    isBackward: true,
    documents: 'by key',
  },
  {
    what: 'the last page, which is not full, from the end,',
    at: records => [records - 37, [0]],
    length: () => 37,
    isBackward: true,
    documents: 'on the way',
  },
]

describe.each(SORTED)('for a scope of 400 of 500 organizations by $sort $order,', parameters => {
  /**
   * Expects a scan of the index of the sort in one direction that reads at most three times the records sent
   * or skipped.
   */
  function expectAlong(
    { page, whole }: ExplainedPage,
    isBackward: boolean,
    length: number,
  ): Plan | undefined {
    expect(readsAll(whole)).toBe(false)
    expect(isSorted(page)).toBe(false)
    const direction = (parameters.order === 'ASC') === isBackward ? 'Backward' : 'Forward'
    const scan = page.find(node => node['Index Name'] === INDEX[parameters.sort])
    expect(scan).toMatchObject({ 'Scan Direction': direction })
    // In the order of products, a record of each tells the names of the first and the last.
    const names = parameters.sort === 'product_name' ? 2 * PRODUCTS_35.length : 0
    expect(recordsRead(page)).toBeLessThan(3 * length + names)
    return scan
  }

  test.each(CASES)('$what reads the index of the sort, and few more entries than necessary', async of => {
    const [offset, visited] = of.at(broad.records)
    const explained = await many.explainer.explain(broad.scope, { ...parameters, offset }, visited)
    const { page, whole } = explained
    const length = of.length?.(broad.records) ?? PAGE
    const scan = expectAlong(explained, of.isBackward ?? false, length)
    expect(page[0]?.['Actual Rows']).toBe(Math.min(length, PAGE))
    if (of.documents === 'on the way')
      expect(indexesOfRecords(whole).filter(name => name !== 'export_records_product_id')).toEqual([
        INDEX[parameters.sort],
      ])
    if (of.documents === 'by key') {
      expect(types(page)).toContain('Index Only Scan')
      expect(heapFetches(page)).toBe(0)
      // Users of records are looked up only while disclosures are recorded.
      const byKey = whole.filter(
        node => node['Index Name'] === 'export_records_pkey' && node['Actual Loops'] > 0,
      )
      expect(byKey).toMatchObject([{ 'Actual Loops': PAGE }])
    }
    // The scan starts at the remembered cursor.
    if (visited.some(offset => offset > 0)) expect(scan?.['Index Cond']).toContain('ROW(')
  })

  test('a far page of which nothing is remembered is counted first, and read from the start, because the end is not known', async () => {
    const offset = share(0.95)(broad.records)
    const explained = await many.explainer.explain(broad.scope, { ...parameters, offset })
    expectAlong(explained, false, offset)
  })

  test('a page after the end reads no record', async () => {
    const offset = broad.records + PAGE
    const { page } = await many.explainer.explain(broad.scope, { ...parameters, offset }, [0])
    expect(recordsRead(page)).toBe(0)
  })
})

test.each<[string, Filter]>([
  ['400 of 500 organizations', {}],
  ['250 of these organizations', { organization_ids: Array.from({ length: 250 }, (_, n) => `${2 * n}`) }],
  ['one product of these organizations', { product_ids: ['7'] }],
])('the count of %s is a sum of export_counts and reads no record', async (_, filter) => {
  const { count } = await many.explainer.explain(broad.scope, { filter })
  const read = count.flatMap(node => (node['Actual Loops'] > 0 ? (node['Relation Name'] ?? []) : []))
  expect(new Set(read.filter(name => name.startsWith('export_')))).toEqual(
    new Set(['export_version', 'export_counts']),
  )
})

describe('within a scope of 400 of 500 organizations,', () => {
  /** Filters with few matches and an index of their own: name, filter, index. */
  const narrow: [string, Filter, string][] = [
    ['a user', { user_ids: ['77'] }, 'export_records_user_id'],
    ['50 users', { user_ids: Array.from({ length: 50 }, (_, n) => `${n * 300}`) }, 'export_records_user_id'],
    ['a seid', { seids: ['S-77'] }, 'export_records_seid'],
    ['a proctor', { proctor_ids: ['7'] }, 'export_records_proctor_ids'],
    ['a rare search', { search: 'abcde' }, 'export_records_user_id'],
    ['a search of two words', { search: 'abcd cdef' }, 'export_records_user_id'],
  ]
  test.each(narrow)(
    'the filter by %s reads its matches through an index, and few other records',
    async (_, filter, index) => {
      for (const parameters of EACH_SORT) {
        const { whole } = await many.explainer.explain(broad.scope, { ...parameters, filter })
        expect(readsAll(whole)).toBe(false)
        expect(indexesOfRecords(whole)).toContain(index)
        expect(recordsRead(whole)).toBeLessThan(RECORDS / 50)
      }
    },
  )

  /** Filters with many matches: the page is read in the order of the sort. */
  const wide: [string, Filter][] = [
    ['active educators', { user_record_status: ['active'] }],
    ['native records', { legacy_record: [false] }],
    ['a common search', { search: 'product' }],
    ['most products', { product_ids: PRODUCTS_35.slice(0, 30).map(String) }],
    ['most organizations', {}],
  ]
  test.each(wide)(
    'the filter by %s reads few more records than a page has, from the start and from a cursor',
    async (_, filter) => {
      for (const parameters of EACH_SORT) {
        for (const [offset, visited] of [
          [0, [0]],
          [20_000, [20_000 - PAGE]],
        ] as Place[]) {
          const query = { ...parameters, offset, filter }
          const { whole, page } = await many.explainer.explain(broad.scope, query, visited)
          expect(readsAll(whole)).toBe(false)
          expect(recordsRead(page)).toBeLessThan(20 * PAGE)
        }
      }
    },
  )

  test('the filter by days reads the index of days at any depth', async () => {
    const filter = { start_date: '2018-01-01', end_date: '2018-01-31' }
    for (const order of ORDERS) {
      for (const [offset, visited] of [
        [0, []],
        [PAGE, [0]],
        [200, [0]],
      ] as Place[]) {
        const { whole } = await many.explainer.explain(broad.scope, { order, offset, filter }, visited)
        expect(new Set(indexesOfRecords(whole))).toEqual(
          new Set(['export_records_certified_on', 'export_records_pkey']),
        )
        expect(recordsRead(whole)).toBeLessThan(RECORDS / 25)
      }
    }
  })

  test('the filter by archived educators never reads all records', async () => {
    const filter: Filter = { user_record_status: ['archived'] }
    for (const parameters of EACH_SORT) {
      const { whole, page } = await many.explainer.explain(broad.scope, { ...parameters, filter }, [0])
      expect(readsAll(whole)).toBe(false)
      expect(recordsRead(page)).toBeLessThan(RECORDS / 10)
    }
  })
})
