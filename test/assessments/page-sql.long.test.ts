import { beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { requireAccess } from '../../src/assessments/access.ts'
import { constraints } from '../../src/assessments/filters.ts'
import { PAGE, pageSql, type Shape } from '../../src/assessments/page-sql.ts'
import { rawStatement, text } from '../../src/database/statement.ts'
import { useTestDatabase } from '../support/hooks.ts'
import { listQuery } from '../support/list-query.ts'
import { type Oracle, parseRequest } from '../support/oracle.ts'
import { holds } from '../support/property.ts'
import { readOracle } from '../support/stored-platform.ts'
import { FILTERS, issueTokens, ORDERS, SORTS, tokenOf } from './paging/questions.ts'
import { runnerOn } from './paging/runners.ts'
import { addPeople, ORGANIZATIONS, PRODUCTS, reset } from './paging/world.ts'

/** The statement of a page of any shape, in a database with ties in every sort key. */

const db = useTestDatabase()
let oracle: Oracle
let version: string

beforeAll(async () => {
  await reset(db.sql, 300)
  oracle = await readOracle(db.sql)
  await addPeople(db.sql)
  const [row] = await db.sql<{ version: string }[]>`select version from export_version`
  version = row?.version ?? ''
})

/** Searches by people, by products and by both: "o" is in the names of all products, and of some people. */
const SEARCHES = ['o', '李', 'product', 'product 1', 'ek', 'ana', 'Élo', 'bo ek', '%', 'zz'].map(
  text => `filter[search]=${encodeURIComponent(text)}`,
)
const QUESTIONS = [
  ...FILTERS,
  ...SEARCHES,
  ...SEARCHES.map(search => `${search}&filter[start_date]=2025-01-05&filter[legacy_record][]=false`),
  ...SEARCHES.map(search => `${search}&filter[user_ids][]=2&filter[user_ids][]=5&filter[user_ids][]=6`),
].filter(question => !/organization_ids|product_ids/.test(question))

const any = fc.record({
  source: fc.constantFrom('token', 'scope'),
  sort: fc.constantFrom(...SORTS),
  order: fc.constantFrom(...ORDERS),
  count: fc.constantFrom<Shape['count'][]>('remembered', 'kept', 'records'),
  way: fc.constantFrom<Shape['way'][]>('walked', 'found', 'either'),
  isShortSearch: fc.boolean(),
  isOfMost: fc.boolean(),
  question: fc.constantFrom(...QUESTIONS),
  organizations: fc.subarray(ORGANIZATIONS, { minLength: 1 }),
  products: fc.subarray(PRODUCTS, { minLength: 1 }),
  /** The record of the cursor, counted from the first; without one, the page is read from the start. */
  at: fc.option(fc.nat(299)),
  size: fc.integer({ min: 1, max: 20 }),
  skip: fc.nat(20),
  mostSorted: fc.constantFrom(0, 7, 4000),
})

test('the statement of a page reads and counts the records of its list, by every way, in every order', async () => {
  await db.sql`update disclosure_state set is_on = true`
  const property = fc.asyncProperty(any, async drawn => {
    const { question, organizations, products, at, size, skip, mostSorted, ...rest } = drawn
    const { filters, values } = constraints(listQuery(question).filter)
    const { sort, order, source, count, way } = rest
    fc.pre(count !== 'kept' || filters.length === 0)
    fc.pre(way !== 'either' || count === 'records')
    const scope = { organizations, products }
    await issueTokens(db.sql, scope)
    const { access } = await requireAccess(runnerOn(db.sql), tokenOf(scope))
    const all = oracle
      .documents(scope, parseRequest(`sort=${sort}&order=${order}&${question}`))
      .map(document => Number(JSON.parse(document).id))
    const isKnown = count === 'remembered'
    const cursor = at === null || !isKnown ? undefined : all[at % all.length]
    const shape: Shape = {
      ...{ source, sort, order, count, way, filters, isWithinNames: sort === 'product_name' },
      hasCursor: cursor !== undefined,
      isShortSearch: rest.isShortSearch,
      isOfMost: way === 'walked' && rest.isOfMost,
    }
    const [found] = await rawStatement(pageSql(shape), false)(runnerOn(db.sql), {
      ...{ ...values, organizations: `{${organizations}}`, products: `{${products}}` },
      ...{ size, limit: size + 1, skip, version, mostSorted, scopeDigest: access.scopeDigest },
      ...{ tokenDigest: tokenOf(scope), clientId: access.clientId, recording: true },
      ...{ id: cursor, key: cursor && (await keyOf(sort, cursor)) },
    })
    const row = PAGE.read(found)
    const from = (cursor === undefined ? 0 : all.indexOf(cursor) + 1) + skip
    const ids = all.slice(from, from + size)
    expect(text(row.assessments)).toBe(ids.length > 0 ? `{${ids}}` : null)
    expect(Number(text(row.size))).toBe(ids.length)
    expect(text(row.goesOn)).toBe(from + size < all.length ? 't' : 'f')
    expect(text(row.count)).toBe(isKnown ? null : String(all.length))
    const hasMost = count === 'kept' && 2 * all.length > 300
    expect(text(row.hasMost)).toBe(isKnown ? null : hasMost ? 't' : 'f')
    const last = ids.at(-1)
    expect(text(row.lastId)).toBe(last === undefined ? null : String(last))
    if (last !== undefined) expect(text(row.lastKey)).toBe(await keyOf(sort, last))
    expect(JSON.parse(`[${text(row.documents) ?? ''}]`).map(({ id }: { id: number }) => id)).toEqual(ids)
  })
  await holds(property, { runs: 500 })
})

test.each<[string, Record<string, string>]>([
  ['of another version', { version: '00000000-0000-4000-8000-000000000000' }],
  ['of another scope', { scopeDigest: 'another' }],
])(
  'the page of a remembered list %s has no records, and its row has the present access and version',
  async (_, others) => {
    const scope = { organizations: [1, 2], products: PRODUCTS }
    await issueTokens(db.sql, scope)
    const { access, sets } = await requireAccess(runnerOn(db.sql), tokenOf(scope))
    for (const way of ['walked', 'found'] as const) {
      const shape: Shape = {
        ...{ source: 'token', sort: 'certified_on', order: 'ASC', way, filters: [], hasCursor: false },
        ...{
          count: 'remembered',
          isWithinNames: false,
          isOfMost: false,
          isShortSearch: false,
        },
      }
      const [found] = await rawStatement(pageSql(shape), false)(runnerOn(db.sql), {
        ...{ ...sets, size: 10, limit: 11, skip: 0, version, mostSorted: 4000 },
        ...{ tokenDigest: tokenOf(scope), scopeDigest: access.scopeDigest, ...others },
      })
      const row = PAGE.read(found)
      expect([row.documents, row.assessments, text(row.size)]).toEqual([null, null, '0'])
      expect([row.scopeDigest, row.version].map(text)).toEqual([access.scopeDigest, version])
    }
  },
)

/** The sort key of a record, as the read model has it. */
async function keyOf(sort: (typeof SORTS)[number], id: number): Promise<string> {
  const column = sort === 'certified_on' ? 'certified_on' : `${sort}_key`
  const [row] = await db.sql<{ key: string }[]>`
    select ${db.sql(column)}::text as key from export_records where id = ${id}`
  return row?.key ?? ''
}
