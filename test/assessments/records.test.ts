import { beforeAll, describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { constraints } from '../../src/assessments/constraints.ts'
import { type Beside, recordsBeside } from '../../src/assessments/records.ts'
import { GIVEN_SETS, SETS_OF_TOKEN } from '../../src/assessments/scope.ts'
import type { Way } from '../../src/assessments/ways.ts'
import { statement } from '../../src/database/statement.ts'
import { useTestDatabase } from '../support/hooks.ts'
import { listQuery } from '../support/list-query.ts'
import { type Oracle, parseRequest } from '../support/oracle.ts'
import { holds } from '../support/property.ts'
import { readOracle } from '../support/stored-platform.ts'
import { FILTERS, ORDERS, SORTS } from './paging/questions.ts'
import { ORGANIZATIONS, PRODUCTS, reset } from './paging/world.ts'

/** The records on one side of an entry, in a database with ties in every sort key. */

const db = useTestDatabase()
let oracle: Oracle

beforeAll(async () => {
  await reset(db.sql, 300)
  oracle = await readOracle(db.sql)
})

/** Searches by people, by products and by both: "o" is in the names of all products, and of some people. */
const SEARCHES = ['o', 'product', 'product 1', 'ek', 'ana'].map(text => `filter[search]=${text}`)

const WAYS: Way[] = ['whole', 'along', 'organizations', 'products', 'picked']

const SETS = { given: GIVEN_SETS, 'of the token': SETS_OF_TOKEN }

function run(beside: Beside, sets: keyof typeof SETS, values: Record<string, unknown>) {
  const [size, skip] = [sql`${sql.placeholder('size')}::bigint`, sql`${sql.placeholder('skip')}::bigint`]
  const text = sql`
    select near.id::integer, near.key::text
    from (select ${GIVEN_SETS.organizations} as organizations, ${GIVEN_SETS.products} as products) as token
    cross join lateral (${recordsBeside(beside, SETS[sets], sql`${size} + ${skip}`, sql`1000`)}
    ) as near limit ${size} offset ${skip}`
  return statement<Record<string, unknown>, { id: number; key: string }>(text, false)(db.sql, values)
}

describe('the records beside an entry', () => {
  test('are those of the list, by every way, in every order, on both sides of a cursor and from both ends', async () => {
    const any = fc.record({
      sort: fc.constantFrom(...SORTS),
      order: fc.constantFrom(...ORDERS),
      way: fc.constantFrom(...WAYS),
      side: fc.constantFrom('before' as const, 'after' as const),
      sets: fc.constantFrom(...(Object.keys(SETS) as (keyof typeof SETS)[])),
      question: fc.constantFrom(...FILTERS, ...SEARCHES),
      organizations: fc.subarray(ORGANIZATIONS, { minLength: 1 }),
      products: fc.subarray(PRODUCTS, { minLength: 1 }),
      /** The record of the cursor, counted from the first; without one, the entry is an end of the list. */
      at: fc.option(fc.nat(299)),
      size: fc.nat(20),
      skip: fc.nat(20),
    })
    await holds(
      fc.asyncProperty(
        any,
        async ({ sets, question, organizations, products, at, size, skip, ...beside }) => {
          const { filters, values, narrowed } = constraints(listQuery(question).filter)
          fc.pre(narrowed.length === 0)
          const { sort, order, side } = beside
          const request = parseRequest(`sort=${sort}&order=${order}&${question}`)
          const list = oracle
            .documents({ organizations, products }, request)
            .map(document => Number(JSON.parse(document).id))
          const cursor = at === null ? undefined : list[at % list.length]
          const upTo = cursor === undefined ? (side === 'after' ? 0 : list.length) : list.indexOf(cursor) + 1
          const beyond = side === 'after' ? list.slice(upTo) : list.slice(0, upTo).reverse()
          const found = await run({ ...beside, filters, hasCursor: cursor !== undefined }, sets, {
            ...{ ...values, organizations: `{${organizations}}`, products: `{${products}}` },
            ...{ size, skip, id: cursor, key: cursor && (await keyOf(sort, cursor)) },
          })
          expect(found.map(({ id }) => id)).toEqual(beyond.slice(skip, skip + size))
        },
      ),
      { runs: 300 },
    )
  })
})

/** The sort key of a record, as the read model has it. */
async function keyOf(sort: (typeof SORTS)[number], id: number): Promise<string> {
  const column = sort === 'certified_on' ? 'certified_on' : `${sort}_key`
  const [row] = await db.sql<{ key: string }[]>`
    select ${db.sql(column)}::text as key from export_records where id = ${id}`
  return row?.key ?? ''
}
