import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openDatabase } from '../../src/postgres/database.ts'
import { openFirst } from '../../src/postgres/opening.ts'
import { Pool } from '../../src/postgres/pool.ts'
import { readPostgresUrl } from '../../src/postgres/url.ts'
import { FlakyProxy } from '../support/flaky-proxy.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'

/** Silence is looked into after 100 ms. */
const BOUNDS = { size: 1, wait: 500, statement: 10_000, slow: 10_000 }
const LOG = { info: () => {}, warn: () => {} }

let database: TestDatabase
let proxy: FlakyProxy
beforeAll(async () => {
  database = await openTestDatabase('postgres')
  proxy = await FlakyProxy.start(database.url)
})
afterAll(async () => {
  await proxy.stop()
  await database.close()
})

test('while statements are slow, one connection looks after them and not one a look', async () => {
  const opened = await openDatabase(proxy.url, 1)
  const pool = opened.pool(BOUNDS, LOG)
  await pool.unsafe('select 1', [], { prepare: false })
  const before = proxy.accepted
  await pool.unsafe('select pg_sleep(2)', [], { prepare: false })
  expect(proxy.accepted - before).toBe(1)
  expect(pool.watch.reason).toBeUndefined()
  await pool.close()
  await opened.close()
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
