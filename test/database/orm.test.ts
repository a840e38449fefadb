import { afterAll, beforeAll, expect, test } from 'bun:test'
import { eq, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/postgres-js'
import { integrations as i, integrationSecrets as s } from '../../db/schema.ts'
import { isoOf, orm } from '../../src/database/orm.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.close())

const SECRET = 'S3cretName'

/** What is known of an error: its text, with those that it was made of. */
const whole = (error: unknown) => {
  const { message, code, cause } = error as { message: string; code?: string; cause?: unknown }
  return { code, text: `${message} ${cause instanceof Error ? cause.message : ''}` }
}

test('an error of a builder is that of the database, with its code and without a parameter', async () => {
  const known = await orm(database.sql).insert(i).values({ clientId: 'a b', name: SECRET }).catch(whole)
  expect(known).toEqual({ code: '23514', text: expect.not.stringContaining(SECRET) })
  const executed = await orm(database.sql)
    .execute(sql`select ${SECRET}::text, 1 / 0`)
    .then(() => undefined, whole)
  expect(executed).toEqual({ code: '22012', text: expect.not.stringContaining(SECRET) })
})

test('so is an error within a transaction', async () => {
  const failed = await database.sql
    .begin(tx =>
      orm(tx)
        .update(s)
        .set({ digest: SECRET })
        .where(eq(s.id, -1n))
        .then(() => orm(tx).execute(sql`select ${SECRET}::int`)),
    )
    .catch(whole)
  expect(failed).toMatchObject({ code: '22P02' })
})

test('drizzle itself throws an error without a code, with the parameters in its message: so orm() is needed', async () => {
  const { postgres } = await separate()
  const error = await drizzle(postgres)
    .execute(sql`select ${SECRET}::text, 1 / 0`)
    .then(() => undefined, whole)
  await postgres.end()
  expect(error).toEqual({ code: undefined, text: expect.stringContaining(SECRET) })
})

test('drizzle changes the parsers of dates of a client, and orm() does not', async () => {
  const { postgres } = await separate()
  // Another text each time: a prepared statement keeps its parsers.
  const isDate = async (text: string) => (await postgres.unsafe(text))[0]?.now instanceof Date
  orm(postgres)
  expect(await isDate('select now() as now')).toBe(true)
  drizzle(postgres)
  expect(await isDate('select now()')).toBe(false)
  await postgres.end()
})

test('an id is a decimal string, and an instant is text', async () => {
  const db = orm(database.sql)
  await db.insert(i).values({ clientId: 'ids', name: 'Ids', organizationIds: ['9223372036854775807', '-1'] })
  const [row] = await db
    .select({ ids: i.organizationIds, at: isoOf(i.createdAt) })
    .from(i)
    .where(eq(i.clientId, 'ids'))
  expect(row).toEqual({ ids: ['-1', '9223372036854775807'], at: expect.stringMatching(/^\d{4}-.*Z$/) })
})

async function separate() {
  const { default: postgres } = await import('postgres')
  return { postgres: postgres(database.url, { max: 1, onnotice: () => {} }) }
}
