import { afterAll, beforeAll, expect, test } from 'bun:test'
import { PageMemory } from '../../src/assessments/page-memory.ts'
import { pageStatement, type Shape } from '../../src/assessments/page-statement.ts'
import { type Filter, ORDERS, SORTS } from '../../src/assessments/parameters.ts'
import { openDatabase } from '../../src/postgres/database.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { read } from './explain.ts'

/** Statements are kept, here and prepared in Postgres, where they are few. */

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase('postgres')
})
afterAll(() => database?.close())

const SHAPE: Shape = {
  sort: 'user_name',
  order: 'ASC',
  isBackward: false,
  filters: [],
  way: 'planned',
  withCount: true,
  isSeek: false,
  isSkip: false,
}

test('a statement of one filter or none is made once', () => {
  for (const filters of [[], ['search']])
    expect(pageStatement({ ...SHAPE, filters })).toBe(pageStatement({ ...SHAPE, filters }))
})

test('a statement of several filters, of which there are 24,000, is not kept', () => {
  const shape = { ...SHAPE, filters: ['search', 'seids'] }
  expect(pageStatement(shape)).not.toBe(pageStatement(shape))
})

test('whatever filters are combined, a connection keeps no more prepared statements', async () => {
  const { sql, close } = await openDatabase(database.url, 1)
  const prepared = async () => {
    const [row] = await sql<
      { count: number }[]
    >`select count(*)::integer as count from pg_prepared_statements`
    return row?.count ?? 0
  }
  const scope = { organizationIds: ['1'], productIds: ['1'] }
  const filters: Filter = {
    start_date: '2025-01-01',
    end_date: '2025-12-31',
    user_ids: ['1'],
    seids: ['x'],
    legacy_record: [true],
  }
  const names = Object.keys(filters) as (keyof Filter)[]
  const several = names.flatMap((one, at) => names.slice(at + 1).map(other => [one, other]))
  const ask = async (chosen: (keyof Filter)[]) => {
    const filter = Object.fromEntries(chosen.map(name => [name, filters[name]]))
    for (const sort of SORTS)
      for (const order of ORDERS) await read(sql, new PageMemory(), scope, { sort, order, filter })
  }
  await prepared()
  const before = await prepared()
  await ask([names[0] as keyof Filter])
  const afterOne = await prepared()
  expect(afterOne).toBe(before + SORTS.length * ORDERS.length)
  for (const chosen of several) await ask(chosen)
  expect(await prepared()).toBe(afterOne)
  await close()
})
