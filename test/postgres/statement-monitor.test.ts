import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openFirst } from '../../src/postgres/connection/opening.ts'
import { readPostgresUrl } from '../../src/postgres/connection/url.ts'
import { openDatabase } from '../../src/postgres/database.ts'
import { DatabaseUnavailable } from '../../src/postgres/failures.ts'
import { ServingDatabase } from '../../src/postgres/pool/serving-database.ts'
import { FlakyProxy } from '../support/flaky-proxy.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'

/** The server is probed after 100 ms of silence. */
const BOUNDS = { size: 1, waitMs: 500, statementMs: 10_000, slowMs: 10_000 }
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

test('all probes during slow statements use one connection', async () => {
  const opened = await openDatabase(proxy.url, 1)
  const pool = opened.pool(BOUNDS, LOG)
  await pool.unsafe('select 1', [], { prepare: false })
  const before = proxy.accepted
  await pool.unsafe('select pg_sleep(2)', [], { prepare: false })
  expect(proxy.accepted - before).toBe(1)
  expect(pool.availability.unreachable).toBeUndefined()
  await pool.close()
  await opened.close()
})

test('a statement on a silently dropped connection is repeated immediately, and a long statement is not interrupted', async () => {
  const opened = await openDatabase(proxy.url, 1)
  const pool = opened.pool({ ...BOUNDS, size: 2 }, LOG)
  await pool.unsafe('select 1', [], { prepare: false })
  proxy.setNetwork({ is: 'silent' })
  proxy.setNetwork({ is: 'normal' })
  const request = pool.forRequest({ signal: new AbortController().signal })
  const dropped = Promise.resolve(request.unsafe(`select 'dropped' as it`, [], { prepare: false }))
  const long = Promise.resolve(request.unsafe(`select 'long' as it from pg_sleep(3)`, [], { prepare: false }))
  expect([...((await Promise.race([dropped, long])) as object[])]).toEqual([{ it: 'dropped' }])
  expect([...((await long) as object[])]).toEqual([{ it: 'long' }])
  await pool.close()
  await opened.close()
})

test('an expired connection ends alone, and a connection that was cut has the idle ones tested before use', async () => {
  const opened = await openDatabase(database.url, 1)
  const pool = opened.pool({ ...BOUNDS, size: 3 }, LOG)
  const connections = await Promise.all([1, 2, 3].map(() => pool.acquire('', undefined)))
  for (const connection of connections) pool.release(connection)
  const areTested = () => [...pool.connections].map(({ usedAt }) => usedAt === Number.NEGATIVE_INFINITY)
  Object.assign(connections[2] as object, { expiresAt: 0 })
  pool.release(await pool.acquire('', undefined))
  expect(areTested()).toEqual([false, false])
  connections[1]?.destroy()
  expect(areTested()).toEqual([true])
  await pool.close()
  await opened.close()
})

test('a connection that ended while it was opened is not used', async () => {
  const url = readPostgresUrl(database.url)
  let opened = 0
  const pool = new ServingDatabase(
    async timeoutMs => {
      const connection = await openFirst(url, timeoutMs)
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
  const pool = opened.pool({ ...BOUNDS, statementMs: 60_000 }, LOG)
  const asleep = Promise.resolve(pool.unsafe('select pg_sleep(60)', [], { prepare: false }))
  const ending = asleep.catch(error => error)
  const sleeping = async () =>
    (await database.sql`select from pg_stat_activity where wait_event = 'PgSleep'`).count
  await until('it sleeps', sleeping)
  await pool.close()
  expect(await ending).toBeInstanceOf(DatabaseUnavailable)
  await until('no statement sleeps', async () => (await sleeping()) === 0)
  await opened.close()
})

test('a statement continues when all connections are replaced and no further one can be opened', async () => {
  const url = readPostgresUrl(database.url)
  let isFull = false
  const pool = new ServingDatabase(
    async timeoutMs => {
      if (isFull) throw Object.assign(new Error('too many connections'), { code: '53300' })
      return await openFirst(url, timeoutMs)
    },
    { ...BOUNDS, size: 2, waitMs: 5000 },
    LOG,
  )
  const running = Promise.resolve(
    pool.unsafe(`select 'done' as it from pg_sleep(0.5)`, [], { prepare: false }),
  )
  await until('the statement runs', () => pool.stats().inUse === 1)
  pool.replaceAll(true)
  isFull = true
  const waiting = Promise.resolve(pool.unsafe(`select 'served' as it`, [], { prepare: false }))
  expect([...((await running) as object[])]).toEqual([{ it: 'done' }])
  expect(pool.availability.unreachable).toBeUndefined()
  isFull = false
  expect([...((await waiting) as object[])]).toEqual([{ it: 'served' }])
  await pool.close()
})
