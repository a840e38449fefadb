import { beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { constraints } from '../../src/assessments/constraints.ts'
import { countMatches } from '../../src/assessments/count.ts'
import { readSpread } from '../../src/assessments/spread.ts'
import { useTestDatabase } from '../support/hooks.ts'
import { listQuery } from '../support/list-query.ts'
import { type Oracle, parseRequest } from '../support/oracle.ts'
import { holds } from '../support/property.ts'
import { readOracle } from '../support/stored-platform.ts'
import { FILTERS } from './paging/questions.ts'
import { ORGANIZATIONS, PRODUCTS, reset } from './paging/world.ts'

/** Counts of matching records, in a database with ties in every sort key. */

const db = useTestDatabase()
let oracle: Oracle

beforeAll(async () => {
  await reset(db.sql, 400)
  oracle = await readOracle(db.sql)
})

const setsOf = (organizations: number[], products: number[]) => ({
  organizations: `{${organizations}}`,
  products: `{${products}}`,
})

/** Searches of each kind: for one letter, two, three and two words; by people, by products and by both. */
const SEARCHES = ['e', '李', 'ek', 'product', 'product 1', 'ana', 'Élo', 'bo ek', 'o', '%', 'zz']
const QUESTIONS = [
  ...FILTERS,
  ...SEARCHES.flatMap(text => [
    `filter[search]=${encodeURIComponent(text)}`,
    `filter[search]=${encodeURIComponent(text)}&filter[start_date]=2025-01-05&filter[legacy_record][]=false`,
  ]),
]

describe('a count', () => {
  test('of any scope and filter is the number of records that match', async () => {
    const scope = fc.record({ organizations: fc.subarray(ORGANIZATIONS), products: fc.subarray(PRODUCTS) })
    await holds(
      fc.asyncProperty(
        scope,
        fc.constantFrom(...QUESTIONS),
        async ({ organizations, products }, question) => {
          const { filters, values } = constraints(listQuery(question).filter)
          // What a request narrows is narrowed before.
          const narrow = (ids: number[], asked: unknown) =>
            ids.filter(id => asked === undefined || (asked as string[]).includes(String(id)))
          const sets = setsOf(narrow(organizations, values.organizations), narrow(products, values.products))
          const count = await countMatches(db.sql, sets, filters, values)
          expect(count).toBe(oracle.documents({ organizations, products }, parseRequest(question)).length)
        },
      ),
      { runs: 150 },
    )
  })

  test('without a filter is kept, with how the records are spread', async () => {
    const count = (organizations: number[], products: number[]) =>
      oracle.documents({ organizations, products }, { lists: {} }).length
    // Organization 4 has no records of these products, and organization 100 none at all.
    expect(count([4], [1, 3])).toBe(0)
    expect(await readSpread(db.sql, setsOf([1, 4, 100], [1, 3]))).toEqual({
      records: count([1, 4], [1, 3]),
      ofOrganizations: count([1, 4], PRODUCTS),
      ofProducts: count(ORGANIZATIONS, [1, 3]),
      ofOthers: count([4, 100], PRODUCTS),
      all: 400,
      organizationCount: 1,
      productCount: 2,
    })
    expect(await readSpread(db.sql, setsOf([], []))).toEqual({
      ...{ records: 0, ofOrganizations: 0, ofOthers: 0, ofProducts: 0, all: 400 },
      ...{ organizationCount: 0, productCount: 0 },
    })
  })

  test('that is exact reads the records, after a write that bypassed the triggers', async () => {
    const sets = setsOf(ORGANIZATIONS, PRODUCTS)
    const { filters, values } = constraints({ search: 'product' })
    await db.sql.begin(async sql => {
      await sql`update export_counts set records = 1`
      expect(await countMatches(sql, sets, filters, values)).toBeLessThan(400)
      expect(await countMatches(sql, sets, filters, values, true)).toBe(400)
      expect(await countMatches(sql, sets, [], {}, true)).toBe(400)
      await sql`select refresh_export_counts(${ORGANIZATIONS.map(String)})`
    })
  })
})
