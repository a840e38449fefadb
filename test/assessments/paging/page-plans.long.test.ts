import { beforeAll, describe, expect, test } from 'bun:test'
import type { Filter } from '../../../src/contract.ts'
import {
  type ExplainedPage,
  heapFetches,
  INDEX,
  indexes,
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

/** How the database goes about pages at any depth, once a server knows something. */

const many = useManyRecords()
/** 400 of 500 organizations. */
let broad: Awaited<ReturnType<typeof scopeOf>>

beforeAll(async () => {
  const organizations = many.organizations.filter((_, at) => at % 5 !== 0)
  broad = await scopeOf(many, organizations)
})

/** Nothing is sorted to find the page, which is what makes it end where it is full. */
const isSorted = (plans: Plan[]) => types(plans).some(type => type.includes('Sort'))

interface Case {
  what: string
  /** An offset in the scope's records, and where a server has been before. */
  at(records: number): Place
  isBackward?: true
  /** How many records are sent or skipped; a page unless given. */
  length?(records: number): number
  /** How the documents are found: in the table on the way along the index, or after it by their key. */
  documents: 'on the way' | 'by key' | 'counted'
}

const share = (part: number) => (records: number) => Math.floor(records * part)

const CASES: Case[] = [
  { what: 'the first page, counted,', at: () => [0, []], documents: 'counted' },
  { what: 'the first page when the count is known', at: () => [0, [0]], documents: 'on the way' },
  ...[0.2, 0.9].map(
    (depth): Case => ({
      what: `a page behind a remembered one (at ${depth})`,
      at: records => [share(depth)(records), [share(depth)(records) - PAGE]],
      documents: 'on the way',
    }),
  ),
  {
    what: 'a jump behind the nearest remembered page',
    at: records => [share(0.4)(records), [0]],
    length: share(0.4),
    documents: 'by key',
  },
  {
    what: 'a jump to the far half, from the end,',
    at: records => [share(0.8)(records), [0]],
    length: records => records - share(0.8)(records),
    isBackward: true,
    documents: 'by key',
  },
  {
    what: 'the last page, which is not a full one, from the end,',
    at: records => [records - 37, [0]],
    length: () => 37,
    isBackward: true,
    documents: 'on the way',
  },
]

describe.each(SORTED)('400 of 500 organizations by $sort $order:', asked => {
  /** Along the index of the sort key, in one direction, and no more of it than some times what is sent or skipped. */
  function expectAlong(
    { page, whole }: ExplainedPage,
    isBackward: boolean,
    length: number,
  ): Plan | undefined {
    expect(readsAll(whole)).toBe(false)
    expect(isSorted(page)).toBe(false)
    const direction = (asked.order === 'ASC') === isBackward ? 'Backward' : 'Forward'
    const scan = page.find(node => 'Index Name' in node)
    expect(scan).toMatchObject({ 'Index Name': INDEX[asked.sort], 'Scan Direction': direction })
    // Products that are not in the scope stand together, at either end.
    expect(recordsRead(page)).toBeLessThan(3 * length)
    return scan
  }

  test.each(CASES)('$what walks the index of the sort and no further than it must', async of => {
    const [offset, visited] = of.at(broad.records)
    const explained = await many.explainer.explain(broad.scope, { ...asked, offset }, visited)
    const { page, whole } = explained
    const length = of.length?.(broad.records) ?? PAGE
    const scan = expectAlong(explained, of.isBackward ?? false, length)
    expect(page[0]?.['Actual Rows']).toBe(Math.min(length, PAGE))
    if (of.documents === 'on the way')
      expect(new Set(indexesOfRecords(whole))).toEqual(new Set([INDEX[asked.sort]]))
    if (of.documents === 'by key') {
      expect(types(page)).toContain('Index Only Scan')
      expect(heapFetches(page)).toBe(0)
      // Whose they are is looked up only where answers are recorded.
      const byKey = whole.filter(
        node => node['Index Name'] === 'export_records_pkey' && node['Actual Loops'] > 0,
      )
      expect(byKey).toMatchObject([{ 'Actual Loops': PAGE }])
    }
    // It begins at the remembered place.
    if (visited.some(place => place > 0)) expect(scan?.['Index Cond']).toContain('ROW(')
  })

  test('a far page without hints is counted and reached by one statement', async () => {
    const offset = share(0.95)(broad.records)
    expectAlong(await many.explainer.explain(broad.scope, { ...asked, offset }), false, offset)
  })

  test('a page beyond the end reads no record', async () => {
    const offset = broad.records + PAGE
    const { page } = await many.explainer.explain(broad.scope, { ...asked, offset }, [0])
    expect(recordsRead(page)).toBe(0)
  })
})

test.each<[string, Filter]>([
  ['400 of 500 organizations', {}],
  ['250 of them', { organization_ids: Array.from({ length: 250 }, (_, n) => `${2 * n}`) }],
  ['a product of them', { product_ids: ['7'] }],
])('the count of %s is a sum of counts, for which no record is read', async (_, filter) => {
  const { whole, page } = await many.explainer.explain(broad.scope, { filter })
  expect(recordsRead(whole.filter(node => !page.includes(node)))).toBe(PAGE)
  expect(indexes(whole)).toContain('export_counts_pkey')
})

describe('within 400 of 500 organizations,', () => {
  /** Filters that an index of their own finds: name, filter, and how many records at most they leave. */
  const narrow: [string, Filter, string][] = [
    ['a user', { user_ids: ['77'] }, 'export_records_user_id'],
    ['50 users', { user_ids: Array.from({ length: 50 }, (_, n) => `${n * 300}`) }, 'export_records_user_id'],
    ['a seid', { seids: ['S-77'] }, 'export_records_seid'],
    ['a proctor', { proctor_ids: ['7'] }, 'export_records_proctor_ids'],
    ['a rare search', { search: 'abcde' }, 'export_records_user_id'],
    ['a search of two words', { search: 'abcd cdef' }, 'export_records_user_id'],
  ]
  test.each(narrow)(
    '%s: the records that have it are read by its index, and no others',
    async (_, filter, index) => {
      for (const asked of EACH_SORT) {
        const { whole } = await many.explainer.explain(broad.scope, { ...asked, filter })
        expect(readsAll(whole)).toBe(false)
        expect(indexesOfRecords(whole)).toContain(index)
        expect(recordsRead(whole)).toBeLessThan(RECORDS / 50)
      }
    },
  )

  /** Filters that leave many: the page is found in the order of the sort. */
  const wide: [string, Filter][] = [
    ['active educators', { user_record_status: ['active'] }],
    ['native records', { legacy_record: [false] }],
    ['a common search', { search: 'product' }],
    ['most products', { product_ids: PRODUCTS_35.slice(0, 30).map(String) }],
    ['most organizations', {}],
  ]
  test.each(wide)(
    '%s: a page reads little more than it sends, from the start and behind',
    async (_, filter) => {
      for (const asked of EACH_SORT) {
        for (const [offset, visited] of [
          [0, [0]],
          [20_000, [20_000 - PAGE]],
        ] as Place[]) {
          const query = { ...asked, offset, filter }
          const { whole, page } = await many.explainer.explain(broad.scope, query, visited)
          expect(readsAll(whole)).toBe(false)
          expect(recordsRead(page)).toBeLessThan(20 * PAGE)
        }
      }
    },
  )

  test('days: by the index of days, whatever the depth', async () => {
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

  test('archived educators: never all of the records', async () => {
    const filter: Filter = { user_record_status: ['archived'] }
    for (const asked of EACH_SORT) {
      const { whole, page } = await many.explainer.explain(broad.scope, { ...asked, filter }, [0])
      expect(readsAll(whole)).toBe(false)
      expect(recordsRead(page)).toBeLessThan(RECORDS / 10)
    }
  })
})
