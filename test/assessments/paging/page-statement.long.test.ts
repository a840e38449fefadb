import { afterAll, beforeAll, expect, test } from 'bun:test'
import { requireAccess } from '../../../src/assessments/access.ts'
import { retrieveAssessment } from '../../../src/assessments/endpoints.ts'
import { readPage } from '../../../src/assessments/page.ts'
import { PageMemory } from '../../../src/assessments/page-memory.ts'
import { pageSql, type Shape } from '../../../src/assessments/page-sql.ts'
import type { ServingDatabase } from '../../../src/database/pool.ts'
import { compile } from '../../../src/database/statement.ts'
import { useTestDatabase } from '../../support/hooks.ts'
import { listQuery } from '../../support/list-query.ts'
import type { Scope } from '../../support/oracle.ts'
import { PATIENT } from '../../support/pool.ts'
import { useWay, WALKED } from './limits.ts'
import { issueTokens, SORTED, tokenOf } from './questions.ts'
import { EMPTY, PRODUCTS, reset } from './world.ts'

/** The texts of page statements, whether connections keep them prepared, and with which kind of plan. */

const NEXT: Shape = {
  ...{ source: 'token', sort: 'user_name', order: 'DESC', filters: [], count: 'remembered', way: 'walked' },
  ...{ isShortSearch: false, hasCursor: true, isWithinNames: false, isOfMost: true },
}
const SEARCHED: Shape = {
  ...{ ...NEXT, sort: 'certified_on', order: 'ASC', filters: ['start_date', 'search'] },
  ...{ count: 'records', way: 'either', hasCursor: false, isOfMost: false },
}

/** TEST_UPDATE_STATEMENTS=1 writes the files. */
test.each<[string, string, Shape]>([
  ['next-page.sql', 'the next page of a walk', NEXT],
  ['first-page-of-search.sql', 'the first page of a search from a day on', SEARCHED],
])('statements/%s equals the statement that the service sends for %s', async (name, _, shape) => {
  const file = Bun.file(`${import.meta.dir}/../statements/${name}`)
  const text = `${compile(pageSql(shape)).sql.trim()}\n`
  if (process.env.TEST_UPDATE_STATEMENTS) await file.write(text)
  expect(text).toBe(await file.text())
})

useWay(WALKED)
const database = useTestDatabase()
let pool: ServingDatabase
const SCOPES: [Scope, Scope, Scope] = [
  { organizations: [1, 2, 3, 4, 5], products: PRODUCTS },
  { organizations: [1, 4, ...EMPTY], products: [1, 3] },
  { organizations: [3], products: PRODUCTS },
]

beforeAll(async () => {
  await reset(database.sql, 400)
  await issueTokens(database.sql, ...SCOPES)
  pool = database.pool(
    { size: 1, waitMs: 60_000, statementMs: 60_000, slowMs: 60_000 },
    { info: () => {}, warn: () => {} },
  )
})
afterAll(() => pool?.close())

/** Reads the page of a query string with the token of a scope. */
const page = (memory: PageMemory, scope: Scope, query: string) =>
  readPage(
    { db: pool.forRequest(PATIENT), memory, tokenDigest: tokenOf(scope), bounds: {} },
    listQuery(query),
  )

interface Kept {
  statement: string
  generic: number
  custom: number
}

const keptPages = async () => {
  const rows = (await pool.unsafe(
    'select statement, generic_plans::integer as generic, custom_plans::integer as custom from pg_prepared_statements',
    [],
    { prepare: false },
  )) as Kept[]
  return rows.filter(({ statement }) => statement.includes('export_records'))
}

test('the statements of a walk get one generic plan for all values', async () => {
  const memory = new PageMemory()
  for (const scope of SCOPES) {
    for (const { sort, order } of SORTED.slice(0, 4)) {
      for (let time = 0; time < 20; time++) {
        for (const offset of [0, 20, 40, 60])
          await page(memory, scope, `page=20&offset=${offset}&sort=${sort}&order=${order}`)
      }
    }
  }
  for (let time = 0; time < 20; time++)
    await retrieveAssessment({ db: pool, memory, tokenDigest: tokenOf(SCOPES[2]), bounds: {} }, '10')
  const kept = await keptPages()
  // Postgres makes five custom plans before it considers a generic plan.
  expect(kept.filter(({ custom }) => custom > 5)).toEqual([])
  expect(kept.filter(({ generic }) => generic >= 14).length).toBeGreaterThan(4)
})

test('statements with filters are not prepared', async () => {
  const memory = new PageMemory()
  const before = await keptPages()
  const filters = [
    ...['start_date]=2025-01-01', 'end_date]=2025-12-31', 'user_ids][]=1', 'seids][]=x'],
    'legacy_record][]=true',
  ]
  for (const one of filters) {
    for (const other of filters) {
      for (const { sort, order } of SORTED)
        await page(memory, SCOPES[0], `filter[${one}&filter[${other}&sort=${sort}&order=${order}`)
    }
  }
  expect((await keptPages()).length).toBe(before.length)
})

test('a statement that is not prepared takes one round trip, and its values arrive unchanged', async () => {
  await requireAccess(pool, tokenOf(SCOPES[0]))
  const found = await page(
    new PageMemory(),
    SCOPES[0],
    'filter[user_record_status][]=active&filter[search]=%22%5C%27%2C%7B%7D&filter[seids][]=a%22%2C%5Cb',
  )
  expect(found).toMatchObject({ count: 0, size: 0 })
})
