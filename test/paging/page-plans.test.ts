import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Filter, ORDERS, SORTS, type Sort } from '../../src/assessments/parameters.ts'
import {
  type ExplainedPage,
  Explainer,
  heapFetches,
  type IdScope,
  indexes,
  indexesOfRecords,
  PAGE,
  type Plan,
  readsAll,
  recordsRead,
  types,
} from './explain.ts'
import { type ManyRecords, openManyRecords, PRODUCTS_35, RECORDS } from './many-records.ts'

/** How the database goes about pages at any depth, once a server knows something. */

let many: ManyRecords
let explainer: Explainer
/** 400 of 500 organizations and 35 of 40 products, and how many records are in it. */
let broad: { scope: IdScope; records: number }

beforeAll(async () => {
  many = await openManyRecords()
  explainer = await Explainer.create(many.url, many.sql)
  broad = await scopeOf(many.organizations.filter((_, at) => at % 5 !== 0).map(row => row.id))
})
afterAll(async () => {
  await explainer?.end()
  await many?.close()
})

async function scopeOf(organizationIds: string[]): Promise<{ scope: IdScope; records: number }> {
  const scope = { organizationIds, productIds: PRODUCTS_35 }
  const [row] = await many.sql<{ count: number }[]>`
    select count(*)::integer as count from export_records
    where organization_id = any (${organizationIds}::bigint[]) and product_id = any (${PRODUCTS_35}::bigint[])`
  return { scope, records: row?.count ?? 0 }
}

const INDEX: Record<Sort, string> = {
  certified_on: 'export_records_certified_on',
  user_name: 'export_records_user_name',
  proctor_name: 'export_records_proctor_name',
  product_name: 'export_records_product_name',
}

const sorts = SORTS.flatMap(sort => ORDERS.map(order => ({ sort, order })))

/** Nothing is sorted to find the page, which is what makes it end where it is full. */
const isSorted = (plans: Plan[]) => types(plans).some(type => type.includes('Sort'))

const scanOf = ({ page }: ExplainedPage): Plan => page.find(node => 'Index Name' in node) as Plan

describe.each(sorts)('400 of 500 organizations by $sort $order:', asked => {
  const forward = asked.order === 'ASC' ? 'Forward' : 'Backward'
  const backward = asked.order === 'ASC' ? 'Backward' : 'Forward'

  /** Along the index of the sort key, in one direction, and no more of it than some times what is sent or skipped. */
  function expectAlong(explained: ExplainedPage, direction: string, records: number): void {
    const { page, whole } = explained
    expect(readsAll(whole)).toBe(false)
    expect(isSorted(page)).toBe(false)
    expect(scanOf(explained)).toMatchObject({ 'Index Name': INDEX[asked.sort], 'Scan Direction': direction })
    // Products that are not in the scope stand together, at either end.
    expect(recordsRead(page)).toBeLessThan(3 * records)
  }

  test('the first page, counted', async () => {
    expectAlong(await explainer.explain(broad.scope, asked), forward, PAGE)
  })

  test('the first page when the count is known reads its documents on the way', async () => {
    const explained = await explainer.explain(broad.scope, asked, [0])
    expectAlong(explained, forward, PAGE)
    expect(indexesOfRecords(explained.whole)).toEqual([INDEX[asked.sort]])
  })

  test.each([0.2, 0.9])('a page behind a remembered one (at %d) begins there', async depth => {
    const offset = Math.floor(broad.records * depth)
    const explained = await explainer.explain(broad.scope, { ...asked, offset }, [offset - PAGE])
    expectAlong(explained, forward, PAGE)
    expect(scanOf(explained)['Index Cond']).toContain('ROW(')
    expect(indexesOfRecords(explained.whole)).toEqual([INDEX[asked.sort]])
  })

  test('a jump behind the nearest remembered page walks the index alone', async () => {
    const offset = Math.floor(broad.records * 0.4)
    const explained = await explainer.explain(broad.scope, { ...asked, offset }, [0])
    expectAlong(explained, forward, offset)
    expect(types(explained.page)).toContain('Index Only Scan')
    expect(heapFetches(explained.page)).toBe(0)
    expect(explained.whole.filter(node => node['Index Name'] === 'export_records_pkey')).toMatchObject([
      { 'Actual Loops': PAGE },
    ])
  })

  test('a jump to the far half walks the index from the end', async () => {
    const offset = Math.floor(broad.records * 0.8)
    const explained = await explainer.explain(broad.scope, { ...asked, offset }, [0])
    expectAlong(explained, backward, broad.records - offset)
    expect(types(explained.page)).toContain('Index Only Scan')
    expect(heapFetches(explained.page)).toBe(0)
  })

  test('the last page, which is not a full one, is read from the end at once', async () => {
    const explained = await explainer.explain(broad.scope, { ...asked, offset: broad.records - 37 }, [0])
    expectAlong(explained, backward, 37)
    expect(indexesOfRecords(explained.whole)).toEqual([INDEX[asked.sort]])
    expect(explained.page[0]?.['Actual Rows']).toBe(37)
  })

  test('a far page of which nothing is known is counted first and then read from the nearer end', async () => {
    const offset = Math.floor(broad.records * 0.95)
    const [counted, explained, ...others] = await explainer.explainAll(broad.scope, { ...asked, offset })
    expect(others).toEqual([])
    expect(recordsRead(counted?.page ?? [])).toBe(0)
    expectAlong(explained as ExplainedPage, backward, broad.records - offset)
  })

  test('a page beyond the end reads no record', async () => {
    const { page } = await explainer.explain(broad.scope, { ...asked, offset: broad.records + PAGE }, [0])
    expect(recordsRead(page)).toBe(0)
  })
})

test('the count of 400 of 500 organizations is of an index alone', async () => {
  const { whole, page } = await explainer.explain(broad.scope, {})
  const counting = whole.filter(node => !page.includes(node) && node['Index Name'] !== 'export_records_pkey')
  expect(heapFetches(counting)).toBe(0)
  expect(readsAll(counting)).toBe(false)
})

describe.each(sorts)('a single organization by $sort $order', asked => {
  test.each([0, 30, 300])(
    '(of rank %d) reads no other, from the start, behind and from the end',
    async rank => {
      const { scope, records } = await scopeOf([many.organizations[rank]?.id ?? ''])
      const all = many.organizations[rank]?.records ?? 0
      for (const [offset, visited] of [
        [0, []],
        [0, [0]],
        [Math.floor(records / 2), [0]],
        [records - 7, [0]],
      ] as [number, number[]][]) {
        const { whole, page } = await explainer.explain(scope, { ...asked, offset }, visited)
        expect(readsAll(whole)).toBe(false)
        expect(indexes(page).join()).toMatch(/^export_records_organization_\w+$/)
        expect(isSorted(page.slice(2))).toBe(false)
        expect(recordsRead(page)).toBeLessThanOrEqual(all)
        expect(heapFetches(page)).toBe(0)
      }
    },
  )

  test('ends where the page is full', async () => {
    const { scope } = await scopeOf([many.organizations[0]?.id ?? ''])
    const { page } = await explainer.explain(scope, asked)
    expect(recordsRead(page)).toBeLessThan(2 * PAGE)
  })
})

describe.each(sorts)('30 of 500 organizations by $sort $order', asked => {
  test.each([10, 200, 400])(
    '(from rank %d on) never read all, from the start, behind and from the end',
    async rank => {
      const chosen = many.organizations.slice(rank, rank + 30)
      const { scope, records } = await scopeOf(chosen.map(row => row.id))
      const middle = Math.floor(records / 2)
      for (const [offset, visited] of [
        [0, []],
        [middle, [middle - PAGE]],
        [middle - PAGE, [0]],
        [records - 37, [0]],
      ] as [number, number[]][]) {
        const { whole, page } = await explainer.explain(scope, { ...asked, offset }, visited)
        expect(readsAll(whole)).toBe(false)
        expect(heapFetches(page)).toBe(0)
        expect(recordsRead(page)).toBeLessThan(RECORDS / 4)
      }
    },
  )
})

describe('within 400 of 500 organizations,', () => {
  /** Filters that an index of their own finds: name, filter, and how many records at most they leave. */
  const narrow: [string, Filter, string][] = [
    ['a user', { user_ids: ['77'] }, 'export_records_user_id'],
    [
      '50 users',
      { user_ids: Array.from({ length: 50 }, (_, n) => String(n * 300)) },
      'export_records_user_id',
    ],
    ['a seid', { seids: ['S-77'] }, 'export_records_seid'],
    ['a proctor', { proctor_ids: ['7'] }, 'export_records_proctor_ids'],
    ['a rare search', { search: 'abcde' }, 'export_records_search'],
    ['a search of two words', { search: 'abcd cdef' }, 'export_records_search'],
  ]
  test.each(narrow)(
    '%s: the records that have it are read by its index, and no others',
    async (_, filter, index) => {
      for (const asked of sorts) {
        const { whole } = await explainer.explain(broad.scope, { ...asked, filter })
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
    ['most products', { product_ids: PRODUCTS_35.slice(0, 30) }],
    ['most organizations', {}],
  ]
  test.each(wide)(
    '%s: a page reads little more than it sends, from the start and behind',
    async (_, filter) => {
      for (const asked of sorts) {
        for (const [offset, visited] of [
          [0, [0]],
          [20_000, [20_000 - PAGE]],
        ] as [number, number[]][]) {
          const { whole, page } = await explainer.explain(broad.scope, { ...asked, offset, filter }, visited)
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
      ] as [number, number[]][]) {
        const { whole } = await explainer.explain(broad.scope, { order, offset, filter }, visited)
        expect(new Set(indexesOfRecords(whole))).toEqual(
          new Set(['export_records_certified_on', 'export_records_pkey']),
        )
        expect(recordsRead(whole)).toBeLessThan(RECORDS / 25)
      }
    }
  })

  test('archived educators: never all of the records', async () => {
    for (const asked of sorts) {
      const { whole, page } = await explainer.explain(
        broad.scope,
        { ...asked, filter: { user_record_status: ['archived'] } },
        [0],
      )
      expect(readsAll(whole)).toBe(false)
      expect(recordsRead(page)).toBeLessThan(RECORDS / 10)
    }
  })
})
