import { afterAll, beforeAll, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import pino from 'pino'
import type { ServingDatabase } from '../../src/database/pool.ts'
import { rawStatement, rowOf, statement } from '../../src/database/statement.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'

let database: TestDatabase
let db: ServingDatabase

beforeAll(async () => {
  database = await openTestDatabase()
  const bounds = { size: 1, waitMs: 5000, statementMs: 5000, slowMs: 5000 }
  db = database.pool(bounds, pino({ enabled: false }))
})
afterAll(async () => {
  await db?.close()
  await database?.close()
})

const { placeholder } = sql
const sums = statement<Record<string, unknown>, object>(sql`
  select ${placeholder('second')}::integer - ${placeholder('first')}::integer as difference, ${7}::integer as constant,
    ${placeholder('second')}::integer as second, ${placeholder('nothing')}::text as nothing`)

test('a statement gets each value by its name, wherever and however often that stands, beside its constants', async () => {
  const row = { difference: 3, constant: 7, second: 5, nothing: null }
  expect(await sums(db, { first: 2, second: 5, nothing: null })).toEqual([row])
  expect(await sums(db, { nothing: null, unused: 1, second: 0, first: -3 })).toEqual([{ ...row, second: 0 }])
})

test('a statement without one of its values is not sent', async () => {
  await expect(sums(db, { first: 2, second: 5 })).rejects.toThrow('a statement has no value for nothing')
  expect(db.stats().idle).toBe(1)
})

test('the columns of a raw row have the names under which the statement selects them', async () => {
  const given = sql`${sql.placeholder('n')}::int`
  const columns = rowOf({ later: sql`2`, toldBy: sql`'é'::text`, missing: sql`null`, first: given })
  const query = sql`select ${columns.list}, 'more' as more`
  const [row] = await rawStatement<{ n: number }>(query)(db, { n: 1 })
  const named = columns.read(row ?? [])
  expect(named).toEqual({
    later: Buffer.from('2'),
    toldBy: Buffer.from('é'),
    missing: null,
    first: Buffer.from('1'),
  })
  const [selected] = await statement<{ n: number }, object>(query)(db, { n: 1 })
  expect(Object.keys(selected ?? {})).toEqual([...Object.keys(named), 'more'])
})
