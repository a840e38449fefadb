import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openFirst } from '../../src/postgres/opening.ts'
import { Pool } from '../../src/postgres/pool.ts'
import { readPostgresUrl } from '../../src/postgres/url.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'

/** Silence is looked into after 100 ms. */
const BOUNDS = { size: 1, wait: 500, statement: 10_000, slow: 10_000 }
const LOG = { info: () => {}, warn: () => {} }

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase('postgres')
})
afterAll(async () => {
  await database.close()
})

test('a connection that has ended before anybody had it is handed to nobody', async () => {
  const url = readPostgresUrl(database.url)
  let opened = 0
  const pool = new Pool(
    async (patience, onEnd) => {
      const connection = await openFirst(url, {}, patience, onEnd)
      if (++opened === 1) connection.destroy()
      return connection
    },
    BOUNDS,
    LOG,
  )
  const rows = (await pool.unsafe('select 1 as one', [], { prepare: false })) as object[]
  expect([...rows]).toEqual([{ one: 1 }])
  expect(opened).toBe(2)
  await pool.close()
})
