import { beforeAll, describe, expect, test } from 'bun:test'
import { type SQL, sql } from 'drizzle-orm'
import fc from 'fast-check'
import { constraints, isInRead } from '../../src/assessments/conditions.ts'
import { parseListQuery } from '../../src/assessments/query-string.ts'
import { type Around, type Beside, isInConstant, recordsBeside } from '../../src/assessments/records.ts'
import type { Way } from '../../src/assessments/ways.ts'
import { statement } from '../../src/postgres/statement.ts'
import { useTestDatabase } from '../support/hooks.ts'
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

/** The sets as constants, and as a statement reads them. */
const AROUND: Record<string, Pick<Around, 'sets' | 'isIn'>> = {
  constant: {
    sets: {
      organizations: sql`${sql.placeholder('organizations')}::bigint[]`,
      products: sql`${sql.placeholder('products')}::bigint[]`,
    },
    isIn: isInConstant,
  },
  read: {
    sets: {
      organizations: sql`(select organizations from token)`,
      products: sql`(select products from token)`,
    },
    isIn: isInRead,
  },
}

function run(beside: Beside, around: (typeof AROUND)[string], values: Record<string, unknown>) {
  const [size, skip] = [sql.placeholder('size'), sql.placeholder('skip')]
  const token: SQL = sql`
    select ${sql.placeholder('organizations')}::bigint[] as organizations, ${sql.placeholder('products')}::bigint[] as products`
  const records = recordsBeside(beside, {
    ...around,
    distance: sql`(${size}::bigint + ${skip}::bigint)`,
    reach: sql`1000`,
  })
  const text = sql`
    with token as materialized (${token})
    select id::integer, key::text from (${records}
    ) as near limit ${size}::bigint offset ${skip}::bigint`
  return statement<Record<string, unknown>, { id: number; key: string }>(text, false)(db.sql, values)
}

describe('the records beside an entry', () => {
  test('are those of the list, by every way, in every order, on both sides of a cursor and from both ends', async () => {
    const any = fc.record({
      sort: fc.constantFrom(...SORTS),
      order: fc.constantFrom(...ORDERS),
      way: fc.constantFrom(...WAYS),
      side: fc.constantFrom('before' as const, 'after' as const),
      around: fc.constantFrom(...Object.keys(AROUND)),
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
        async ({ around, question, organizations, products, at, size, skip, ...beside }) => {
          const { filters, values, narrowed } = constraints(parseListQuery(question).filter)
          fc.pre(narrowed.length === 0)
          const { sort, order, side } = beside
          const request = parseRequest(`sort=${sort}&order=${order}&${question}`)
          const list = oracle
            .documents({ organizations, products }, request)
            .map(document => Number(JSON.parse(document).id))
          const cursor = at === null ? undefined : list[at % list.length]
          const upTo = cursor === undefined ? (side === 'after' ? 0 : list.length) : list.indexOf(cursor) + 1
          const beyond = side === 'after' ? list.slice(upTo) : list.slice(0, upTo).reverse()
          const found = await run(
            { ...beside, filters, hasCursor: cursor !== undefined },
            AROUND[around] as (typeof AROUND)[string],
            {
              ...{ ...values, organizations: `{${organizations}}`, products: `{${products}}` },
              ...{ size, skip, id: cursor, key: cursor && (await keyOf(sort, cursor)) },
            },
          )
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
