import { afterAll, beforeAll, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import pino from 'pino'
import type { ServingDatabase } from '../../src/database/pool.ts'
import { statement } from '../../src/database/statement.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'

/** A pool of one connection, so that the statement after the change uses the connection with the plan. */
const BOUNDS = { size: 1, waitMs: 5000, statementMs: 5000, slowMs: 5000 }

let database: TestDatabase
let pool: ServingDatabase

beforeAll(async () => {
  database = await openTestDatabase()
  pool = database.pool(BOUNDS, pino({ level: 'silent' }))
})
afterAll(async () => {
  await pool?.close()
  await database?.close()
})

/** A value of each kind that statements of the service have as parameters. */
const VALUES = {
  digest: '\\x00015c78ff',
  yes: true,
  no: false,
  ids: ['1', '9007199254740993'],
  texts: ['a "quoted" one', '\\x00', 't'],
  number: 7,
  text: '\\x00',
  day: '2024-02-29',
}

const read = statement<typeof VALUES, Record<string, unknown>>(sql`
  select changing.*,
    encode(${sql.placeholder('digest')}::bytea, 'hex') as digest,
    ${sql.placeholder('yes')}::boolean as yes, ${sql.placeholder('no')}::boolean as no,
    ${sql.placeholder('ids')}::bigint[] as ids, ${sql.placeholder('texts')}::text[] as texts,
    ${sql.placeholder('number')}::integer as number, ${sql.placeholder('text')}::text as text,
    ${sql.placeholder('day')}::date::text as day
  from changing`)

test.each([
  ['the type of a column', 'alter table changing alter column changes type text'],
  ['the columns', 'alter table changing add column another integer'],
  ['the statistics', 'analyze changing'],
  ['the table', 'drop table changing; create table changing as select 2::smallint as changes'],
])('a prepared statement returns the same after a change of %s under its plan', async (_name, change) => {
  await database.sql.unsafe('drop table if exists changing; create table changing as select 1 as changes')
  const [before] = await read(pool, VALUES)
  const { changes: _, ...expected } = before ?? {}
  expect(expected).toMatchObject({
    digest: '00015c78ff',
    yes: true,
    no: false,
    ids: VALUES.ids,
    texts: VALUES.texts,
  })
  await database.sql.unsafe(change)
  const [after] = await read(pool, VALUES)
  expect(after).toMatchObject(expected)
})
