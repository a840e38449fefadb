import { describe, expect, test } from 'bun:test'
import { reachOf } from '../../src/assessments/page-statement.ts'
import type { Spread } from '../../src/assessments/spread.ts'
import { type Listed, wayOf } from '../../src/assessments/ways.ts'

/** Every way gives the same page at a different speed. These tests check which way is taken. */

/** 400 of 500 organizations and 35 of 40 products, of 1,000,000 records. */
const BROAD: Spread = {
  records: 700_000,
  ofOrganizations: 800_000,
  ofProducts: 870_000,
  all: 1_000_000,
  ofOthers: 0,
  organizationCount: 400,
  productCount: 35,
}
/** The same organizations and the rarest product. */
const RARE: Spread = { ...BROAD, records: 12_000, ofProducts: 15_000, productCount: 1 }

/** The way to a page of 100 records in the middle of a walk, unless `listed` says otherwise. */
const way = (listed: Partial<Listed>) => {
  const spread = listed.spread ?? BROAD
  const walk: Listed = {
    sort: 'certified_on',
    filters: [],
    spread,
    count: spread.records,
    distance: 100,
    isAtEnd: false,
  }
  return wayOf({ ...walk, ...listed })
}

const SORTS = ['certified_on', 'user_name', 'proctor_name', 'product_name'] as const

describe('the way to a page', () => {
  test.each(SORTS)('of a broad scope by %s is along the index of the sort', sort => {
    expect(way({ sort })).toBe('whole')
    expect(way({ sort, isAtEnd: true })).toBe('whole')
    expect(way({ sort, distance: 200 })).toBe('whole')
    expect(way({ sort, distance: 201 })).toBe('along')
  })

  test('reads documents along the index if a third of all records match', () => {
    const spread = { ...BROAD, records: 300_000, ofOrganizations: 340_000 }
    expect(way({ spread: { ...spread, all: 900_000 } })).toBe('whole')
    expect(way({ spread: { ...spread, all: 900_001 } })).toBe('along')
    expect(way({ spread, count: 1_000_000, filters: ['legacy_record'] })).toBe('along')
  })

  test('of a rare product is along an index whose keys say nothing about products', () => {
    for (const sort of ['certified_on', 'user_name', 'proctor_name'] as const) {
      expect(way({ sort, spread: RARE })).toBe('along')
      expect(way({ sort, spread: RARE, isAtEnd: true })).toBe('along')
    }
  })

  test('of a few products by their names is product by product', () => {
    expect(way({ sort: 'product_name', spread: RARE })).toBe('products')
    expect(way({ sort: 'product_name', spread: RARE, isAtEnd: true })).toBe('products')
  })

  test('of some products by their names is product by product only from an end of the list', () => {
    const spread = { ...BROAD, records: 160_000, ofProducts: 200_000, productCount: 8 }
    expect(way({ sort: 'product_name', spread, isAtEnd: true })).toBe('products')
    expect(way({ sort: 'product_name', spread, isAtEnd: false })).toBe('along')
  })

  test('of a product with very few records is to pick them all', () => {
    const spread = { ...RARE, records: 800, ofProducts: 1000 }
    expect(way({ spread })).toBe('picked')
    // Product by product, they need not be sorted.
    expect(way({ sort: 'product_name', spread })).toBe('products')
  })

  test('of few organizations is organization by organization', () => {
    const spread = { ...BROAD, records: 2500, ofOrganizations: 2900, organizationCount: 3 }
    for (const sort of SORTS) expect(way({ sort, spread })).toBe('organizations')
    // A single one, however large, is read record by record.
    const largest = { ...BROAD, records: 50_000, ofOrganizations: 60_000, organizationCount: 1 }
    for (const sort of SORTS) expect(way({ sort, spread: largest })).toBe('organizations')
  })

  test('counts organizations without a match in full', () => {
    // Of 400 organizations one has all 10,000 records of the product, and the others 990,000 of other products.
    const one = { records: 10_000, ofOrganizations: 1_000_000, ofProducts: 10_000, all: 10_000_000 }
    const spread = { ...one, ofOthers: 990_000, organizationCount: 1, productCount: 1 }
    expect(way({ spread })).not.toBe('organizations')
    expect(
      way({ spread: { ...spread, records: 0, ofProducts: 0, ofOthers: 1_000_000, organizationCount: 0 } }),
    ).toBe('picked')
  })

  test('counts what is read and not what matches', () => {
    // 1,000 records match, in organizations of 800,000 and in a product of 15,000.
    expect(way({ spread: { ...RARE, records: 1000 } })).toBe('along')
    // Of organizations with 20,000 records these are nearer.
    expect(way({ spread: { ...RARE, records: 1000, organizationCount: 20, ofOrganizations: 20_000 } })).toBe(
      'organizations',
    )
  })

  test.each(['user_ids', 'seids', 'proctor_ids'])(
    'is to pick the matching records first if %s leave few',
    filter => {
      expect(way({ filters: ['legacy_record', filter] })).toBe('picked')
      expect(
        way({ filters: [filter], spread: { ...BROAD, organizationCount: 1, ofOrganizations: 10 } }),
      ).toBe('picked')
    },
  )

  test('is to pick the matching records of a search, unless they are many', () => {
    expect(way({ filters: ['search'], count: 3000 })).toBe('picked')
    expect(way({ filters: ['search'], count: 30_000 })).toBe('along')
    // The names of all people are read first.
    expect(way({ filters: ['search_short'], count: 1000 })).toBe('picked')
    expect(way({ filters: ['search_short'], count: 5000 })).toBe('along')
  })

  test('of a search within few organizations is to pick only if few records are found in all organizations', () => {
    const spread = { ...BROAD, records: 2500, ofOrganizations: 2900, organizationCount: 3 }
    for (const sort of SORTS) {
      expect(way({ sort, spread, filters: ['search'], count: 2 })).toBe('picked')
      // As of the 2,500, a fifth of the 1,000,000 has the name.
      expect(way({ sort, spread, filters: ['search'], count: 500 })).toBe('organizations')
      expect(way({ sort, spread, filters: ['search'], count: 2500 })).toBe('organizations')
    }
  })

  test('is to pick the many records of a search by product names only from an end of the list', () => {
    const found: Partial<Listed> = { sort: 'product_name', filters: ['search'], count: 90_000 }
    expect(way({ ...found, isAtEnd: true })).toBe('picked')
    expect(way({ ...found, isAtEnd: false })).toBe('along')
    expect(way({ ...found, isAtEnd: true, count: 600_000 })).toBe('along')
  })

  test.each(SORTS)('by %s is the same for a list without records as for one with a single record', sort => {
    for (const filters of [[], ['search'], ['legacy_record']])
      expect(way({ sort, filters, count: 0 })).toBe(way({ sort, filters, count: 1 }))
  })
})

test('a statement reaches as far as its page: 1,000, 100,000, 10,000,000 or a billion records', () => {
  const distances = [1, 1000, 1001, 100_000, 100_001, 10_000_000, 10_000_001]
  expect(distances.map(skip => reachOf({ skip, size: 0 }))).toEqual([
    1000, 1000, 100_000, 100_000, 10_000_000, 10_000_000, 1_000_000_000,
  ])
})
