import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openFirst } from '../../src/postgres/connection/opening.ts'
import { readPostgresUrl } from '../../src/postgres/connection/url.ts'
import { openDatabase } from '../../src/postgres/database.ts'
import { DatabaseUnavailable } from '../../src/postgres/failures.ts'
import { ServingDatabase } from '../../src/postgres/pool/serving-database.ts'
import { FlakyProxy } from '../support/flaky-proxy.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'

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
  expect(pool.availability.reason).toBeUndefined()
  await pool.close()
  await opened.close()
})

test('a connection that has ended before anybody had it is handed to nobody', async () => {
  const url = readPostgresUrl(database.url)
  let opened = 0
  const pool = new ServingDatabase(
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

test('a statement that runs when the pool is closed is cancelled', async () => {
  const opened = await openDatabase(database.url, 1)
  const pool = opened.pool({ ...BOUNDS, statement: 60_000 }, LOG)
  const asleep = Promise.resolve(pool.unsafe('select pg_sleep(60)', [], { prepare: false }))
  const ending = asleep.catch(error => error)
  const sleeping = async () =>
    (await database.sql`select from pg_stat_activity where wait_event = 'PgSleep'`).count
  await until('it sleeps', sleeping)
  await pool.close()
  expect(await ending).toBeInstanceOf(DatabaseUnavailable)
  await until('nobody sleeps', async () => (await sleeping()) === 0)
  await opened.close()
})
