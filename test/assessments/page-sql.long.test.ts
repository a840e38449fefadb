import { beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { requireAccess } from '../../src/assessments/access.ts'
import { constraints } from '../../src/assessments/filters.ts'
import { PAGE, pageSql } from '../../src/assessments/list-sql.ts'
import type { Membership } from '../../src/assessments/scope.ts'
import type { Shape } from '../../src/assessments/shape.ts'
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
const SEARCHES = ['o', 'product', 'product 1', 'ek', 'ana'].map(text => `filter[search]=${text}`)
const QUESTIONS = [...FILTERS, ...SEARCHES].filter(question => !/organization_ids|product_ids/.test(question))

const WAYS: Shape['way'][] = ['gathered', 'gathered in scope', 'walked', 'dense']

const any = fc.record({
  source: fc.constantFrom('token', 'scope'),
  sort: fc.constantFrom(...SORTS),
  order: fc.constantFrom(...ORDERS),
  way: fc.constantFrom(...WAYS),
  isBackward: fc.boolean(),
  isEach: fc.boolean(),
  membership: fc.constantFrom<Membership[]>('searched', 'hashed', 'planned'),
  isByProduct: fc.boolean(),
  isRecorded: fc.boolean(),
  isExact: fc.boolean(),
  /** Whether the page is counted by its statement. */
  isCounted: fc.boolean(),
  question: fc.constantFrom(...QUESTIONS),
  organizations: fc.subarray(ORGANIZATIONS, { minLength: 1 }),
  products: fc.subarray(PRODUCTS, { minLength: 1 }),
  /** The record of the cursor, counted from the first; without one, the entry is an end of the list. */
  at: fc.option(fc.nat(299)),
  size: fc.nat(20),
  skip: fc.nat(20),
})

test('the statement of a page reads the records of its list from its entry, by every way, in every order', async () => {
  await db.sql`update disclosure_state set is_on = true`
  const property = fc.asyncProperty(any, async drawn => {
    const { question, organizations, products, at, size, skip, isCounted, isExact, ...rest } = drawn
    const scope = { organizations, products }
    await issueTokens(db.sql, scope)
    const { access } = await requireAccess(runnerOn(db.sql), tokenOf(scope))
    const { filters, values } = constraints(listQuery(question).filter)
    const { sort, order } = rest
    const isGathered = rest.way.startsWith('gathered') || isCounted
    const list = oracle
      .documents(scope, parseRequest(`sort=${sort}&order=${order}&${question}`))
      .map(document => Number(JSON.parse(document).id))
    const isBackward = rest.isBackward && !isGathered
    const cursor = at === null || isGathered ? undefined : list[at % list.length]
    const upTo = cursor === undefined ? (isBackward ? list.length : 0) : list.indexOf(cursor) + 1
    const beyond = isBackward ? list.slice(0, upTo).reverse() : list.slice(upTo)
    const shape: Shape = {
      ...{ ...rest, filters, isBackward, isRecorded: true, reach: 200 },
      hasCursor: cursor !== undefined,
      isBounded: cursor === undefined,
      ...(isCounted && { counting: { source: rest.source, filters, isExact } }),
    }
    const sets = { organizations: `{${organizations}}`, products: `{${products}}` }
    const [found] = await rawStatement(pageSql(shape), false)(runnerOn(db.sql), {
      ...{ ...values, ...sets, size, skip, version, token: tokenOf(scope), scopeDigest: access.scopeDigest },
      ...{ client: access.clientId, recording: true },
      ...{ id: cursor, key: cursor && (await keyOf(sort, cursor)) },
    })
    const row = PAGE.read(found)
    // A counted page that ends where the count says reads one record more, and there is none.
    const near = beyond.slice(skip, skip + size)
    const ids = isBackward ? near.reverse() : near
    expect(text(row.assessments)).toBe(ids.length > 0 ? `{${ids}}` : null)
    expect(Number(text(row.size))).toBe(ids.length)
    expect(text(row.count)).toBe(isCounted ? String(list.length) : null)
    const last = ids.at(-1)
    expect(text(row.lastId)).toBe(last === undefined ? null : String(last))
    if (last !== undefined) expect(text(row.lastKey)).toBe(await keyOf(sort, last))
    expect(JSON.parse(`[${text(row.documents) ?? ''}]`).map(({ id }: { id: number }) => id)).toEqual(ids)
  })
  await holds(property, { runs: 500 })
})

test.each<[string, Partial<Shape>, Record<string, string>]>([
  ['of another version', {}, { version: '00000000-0000-4000-8000-000000000000' }],
  ['of another scope', {}, { scopeDigest: 'another' }],
  ['while disclosures are recorded, which was not remembered', { isRecorded: false }, {}],
])(
  'a page %s has no records, and its row has the present access, version and switch',
  async (_, differs, others) => {
    await db.sql`update disclosure_state set is_on = true`
    const scope = { organizations: [1, 2], products: PRODUCTS }
    await issueTokens(db.sql, scope)
    const { access, sets } = await requireAccess(runnerOn(db.sql), tokenOf(scope))
    for (const way of WAYS) {
      const shape: Shape = {
        ...{
          source: 'token',
          sort: 'certified_on',
          order: 'ASC',
          filters: [],
          way,
          reach: 200,
          hasCursor: false,
          isBackward: false,
          isEach: false,
        },
        ...{ isBounded: true, membership: 'planned', isByProduct: true, isRecorded: true, ...differs },
      }
      const [found] = await rawStatement(pageSql(shape), false)(runnerOn(db.sql), {
        ...{
          ...sets,
          size: 10,
          skip: 0,
          version,
          token: tokenOf(scope),
          scopeDigest: access.scopeDigest,
          ...others,
        },
      })
      const row = PAGE.read(found)
      expect([row.documents, row.assessments, text(row.size)]).toEqual([null, null, '0'])
      expect([row.scopeDigest, row.version, row.recording].map(text)).toEqual([
        access.scopeDigest,
        version,
        't',
      ])
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
