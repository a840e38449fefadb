import { beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { requireAccess } from '../../src/assessments/access.ts'
import { constraints } from '../../src/assessments/filters.ts'
import { COUNT, countSql } from '../../src/assessments/list-sql.ts'
import type { Source } from '../../src/assessments/page-state.ts'
import { narrowed } from '../../src/assessments/scope.ts'
import { rawStatement, text } from '../../src/database/statement.ts'
import { useTestDatabase } from '../support/hooks.ts'
import { listQuery } from '../support/list-query.ts'
import { type Oracle, parseRequest, type Scope } from '../support/oracle.ts'
import { holds } from '../support/property.ts'
import { readOracle } from '../support/stored-platform.ts'
import { FILTERS, issueTokens, tokenOf } from './paging/questions.ts'
import { runnerOn } from './paging/runners.ts'
import { addPeople, ORGANIZATIONS, PRODUCTS, reset } from './paging/world.ts'

/** Counts of matching records, in a database with ties in every sort key. */

const db = useTestDatabase()
let oracle: Oracle

beforeAll(async () => {
  await reset(db.sql, 400)
  oracle = await readOracle(db.sql)
  await addPeople(db.sql)
})

/** Searches for one letter, two letters, a word, and two words; of people, of products, and of both. */
const SEARCHES = ['e', '李', 'o', '1', 'ek', 'product', 'product 1', 'ana', 'Élo', 'bo ek', '%', 'zz']
/** Before all days of the records, among them, and after them. */
const DAYS = [
  '2024-12-01',
  '2025-01-02',
  '2025-01-04',
  '2025-01-06',
  '2025-01-08',
  '2025-01-10',
  '2025-03-01',
]
const QUESTIONS = [
  ...FILTERS,
  ...DAYS.map(day => `filter[start_date]=${day}`),
  ...SEARCHES.flatMap(text => [
    `filter[search]=${encodeURIComponent(text)}`,
    `filter[search]=${encodeURIComponent(text)}&filter[start_date]=2025-01-05&filter[legacy_record][]=false`,
    `filter[search]=${encodeURIComponent(text)}&filter[user_ids][]=2&filter[user_ids][]=5&filter[user_ids][]=6`,
  ]),
]

/** The count of a list, in the scope that a token has, or in that scope by its values. */
async function countOf(
  scope: Scope,
  question: string,
  isExact = false,
  source: Source = 'token',
): Promise<number> {
  await issueTokens(db.sql, scope)
  const { access, sets } = await requireAccess(runnerOn(db.sql), tokenOf(scope))
  const { filter } = listQuery(question)
  const { filters, values } = constraints(filter)
  const counting = { source, filters, isExact }
  const of = source === 'token' ? { token: tokenOf(scope) } : { client: access.clientId, recording: false }
  const given = { ...values, ...narrowed(sets, filter), ...of, scopeDigest: access.scopeDigest }
  const [found] = await rawStatement(countSql(counting), false)(runnerOn(db.sql), given)
  return Number(text(COUNT.read(found).count))
}

describe('a count', () => {
  test('of any scope and filter is the number of records that match, kept or not', async () => {
    const scope = fc.record({
      organizations: fc.subarray(ORGANIZATIONS, { minLength: 1 }),
      products: fc.subarray(PRODUCTS, { minLength: 1 }),
    })
    await holds(
      fc.asyncProperty(
        scope,
        fc.constantFrom(...QUESTIONS),
        fc.boolean(),
        fc.constantFrom('token', 'scope'),
        async (scope, question, isExact, source) => {
          const expected = oracle.documents(scope, parseRequest(question)).length
          expect(await countOf(scope, question, isExact, source)).toBe(expected)
        },
      ),
      { runs: 60, thorough: 150 },
    )
  })

  test.each(['o', 'e', '1', 'a'])(
    'of a search for the letter "%s" has each record once, whether its person or its product has the letter',
    async letter => {
      const search = `filter[search]=${letter}`
      for (const products of [PRODUCTS, [1, 3], [3]]) {
        const scope = { organizations: ORGANIZATIONS, products }
        const expected = oracle.documents(scope, parseRequest(search)).length
        expect(await countOf(scope, search)).toBe(expected)
      }
    },
  )

  test('that is exact reads the records, after a write that bypassed the triggers', async () => {
    const scope = { organizations: ORGANIZATIONS, products: PRODUCTS }
    const [search, early] = ['filter[search]=product', 'filter[start_date]=2024-12-01']
    await db.sql`update export_counts set records = 1`
    for (const question of [search, early]) {
      const right = oracle.documents(scope, parseRequest(question)).length
      expect(await countOf(scope, question)).toBeLessThan(right)
      expect(await countOf(scope, question, true)).toBe(right)
    }
    expect(await countOf(scope, '', true)).toBe(400)
    await db.sql`select refresh_export_counts(${ORGANIZATIONS.map(String)})`
    expect(await countOf(scope, search)).toBe(oracle.documents(scope, parseRequest(search)).length)
  })

  describe('of a search for a letter that most products have', () => {
    const search = 'filter[search]=o'
    const scope = { organizations: ORGANIZATIONS, products: [...PRODUCTS, 5, 6, 7, 8] }
    let right: number
    beforeAll(async () => {
      await reset(db.sql, 400)
      await addPeople(db.sql)
      await db.sql`insert into products values (5, 'Lab 5'), (6, 'Lab 6'), (7, 'Product 7'), (8, 'Product 8')`
      await db.sql`update assessments set product_id = 5 where id % 70 = 0`
      right = (await readOracle(db.sql)).documents(scope, parseRequest(search)).length
    })

    test('has the records of all other products, of which one has none', async () => {
      expect(await countOf(scope, search)).toBe(right)
    })

    test('is too low after a product was left with two sort keys, unless it is exact', async () => {
      await db.sql`update export_records set product_name_key = 'other' where product_id = 3 and id % 20 = 0`
      expect(await countOf(scope, search)).toBeLessThan(right)
      expect(await countOf(scope, search, true)).toBe(right)
    })
  })
})
