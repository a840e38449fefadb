import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Connection } from '../../src/database/connection/connection.ts'
import { openFirst } from '../../src/database/connection/opening.ts'
import { openDatabase } from '../../src/database/database.ts'
import { DatabaseUnavailable, timeoutError } from '../../src/database/failures.ts'
import type { ConnectionPool } from '../../src/database/pool/connection-pool.ts'
import { ServingDatabase } from '../../src/database/pool/serving-database.ts'
import { readPostgresUrl } from '../../src/database/url.ts'
import { FlakyProxy } from '../support/flaky-proxy.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'
import { LOST } from '../support/wordings.ts'

/** The server is probed after 100 ms of silence. */
const BOUNDS = { size: 1, waitMs: 500, statementMs: 10_000, slowMs: 10_000 }
const LOG = { info: () => {}, warn: () => {} }

let database: TestDatabase
let proxy: FlakyProxy
beforeAll(async () => {
  database = await openTestDatabase()
  proxy = await FlakyProxy.start(database.url)
})
afterAll(async () => {
  await proxy.stop()
  await database.close()
})

test('the connection of the probes is replaced when it is too old', async () => {
  const url = readPostgresUrl(database.url)
  const opened: Connection[] = []
  const db = new ServingDatabase(
    async timeoutMs => {
      const connection = await openFirst(url, timeoutMs)
      opened.push(connection)
      return connection
    },
    BOUNDS,
    LOG,
  )
  const slow = Promise.resolve(db.unsafe('select pg_sleep(60)', [], { prepare: false })).catch(error => error)
  await until('the first probe is over', () => opened[1]?.state.is === 'idle')
  const [, prober] = opened as [Connection, Connection]
  Object.assign(prober, { expiresAt: 0 })
  await until('another connection probes', () => opened[2]?.state.is === 'idle')
  expect([prober.isClosed, db.pool.connections.size]).toEqual([true, 1])
  await db.close()
  expect(await slow).toBeInstanceOf(DatabaseUnavailable)
})

test('a statement on a silently dropped connection is repeated immediately, and a long statement is not interrupted', async () => {
  const opened = await openDatabase(proxy.url, 1)
  const db = opened.pool({ ...BOUNDS, size: 2 }, LOG)
  await db.unsafe('select 1', [], { prepare: false })
  proxy.setNetwork({ is: 'silent' })
  proxy.setNetwork({ is: 'normal' })
  const request = db.forRequest({ signal: new AbortController().signal })
  const dropped = Promise.resolve(request.unsafe(`select 'dropped' as it`, [], { prepare: false }))
  const long = Promise.resolve(request.unsafe(`select 'long' as it from pg_sleep(3)`, [], { prepare: false }))
  expect([...((await Promise.race([dropped, long])) as object[])]).toEqual([{ it: 'dropped' }])
  expect([...((await long) as object[])]).toEqual([{ it: 'long' }])
  await db.close()
  await opened.close()
})

/** The connections of a pool, each used once. */
async function filled(pool: ConnectionPool): Promise<Connection[]> {
  const later = performance.now() + 60_000
  const taken = await Promise.all(Array.from({ length: pool.bounds.size }, () => pool.acquire('', later)))
  for (const connection of taken) connection.release()
  return taken
}

/** Takes a connection and gives it back. */
async function use(pool: ConnectionPool): Promise<Connection> {
  const connection = await pool.acquire('', performance.now() + 60_000)
  connection.release()
  return connection
}

test('a connection that is too old ends alone, and after one was cut, an idle one is tested before it is used', async () => {
  const opened = await openDatabase(database.url, 1)
  const db = opened.pool({ ...BOUNDS, size: 3 }, LOG)
  const [first, second, third] = (await filled(db.pool)) as [Connection, Connection, Connection]
  Object.assign(third, { expiresAt: 0 })
  const heardAt = () => [first, second].map(connection => connection.heardAt)
  const before = heardAt()
  await use(db.pool)
  expect([first, second, third].map(({ isClosed }) => isClosed)).toEqual([false, false, true])
  expect(heardAt()).toEqual(before)
  second.destroy()
  expect(await use(db.pool)).toBe(first)
  expect(first.heardAt).toBeGreaterThan(before[0] as number)
  await db.close()
  await opened.close()
})

test('a connection that was opened while another one fails its test stays', async () => {
  const opened = await openDatabase(proxy.url, 1)
  const db = opened.pool({ ...BOUNDS, waitMs: 5000, size: 2 }, LOG)
  const tested = await use(db.pool)
  Object.assign(tested, { heardAt: performance.now() - 40_000 })
  proxy.setNetwork({ is: 'silent' })
  proxy.setNetwork({ is: 'normal' })
  const first = use(db.pool)
  expect(tested.state.is).toBe('testing')
  const other = await use(db.pool)
  expect(await first).toBe(other)
  expect(tested.state.is).toBe('testing')
  await until('the test fails', () => tested.isClosed)
  expect(other.isClosed).toBe(false)
  await db.close()
  await opened.close()
})

test('a connection that may no longer be used is not handed to a lease that waits', async () => {
  const opened = await openDatabase(database.url, 1)
  const db = opened.pool({ ...BOUNDS, waitMs: 5000 }, LOG)
  const [connection] = (await filled(db.pool)) as [Connection]
  const pid = () => db.unsafe('select pg_backend_pid() as pid', [], { prepare: false })
  const taken = await db.pool.acquire('', performance.now() + 60_000)
  const waiting = pid()
  expect(db.pool.stats().waiting).toBe(1)
  db.pool.replaceAll(true)
  taken.release()
  expect([...((await waiting) as { pid: number }[])]).not.toEqual([{ pid: connection.backend.pid }])
  expect(connection.isClosed).toBe(true)
  await db.close()
  await opened.close()
})

test('a connection that ended while it was opened is not used', async () => {
  const url = readPostgresUrl(database.url)
  let opened = 0
  const db = new ServingDatabase(
    async timeoutMs => {
      const connection = await openFirst(url, timeoutMs)
      if (++opened === 1) connection.destroy()
      return connection
    },
    BOUNDS,
    LOG,
  )
  const rows = (await db.unsafe('select 1 as one', [], { prepare: false })) as object[]
  expect([...rows]).toEqual([{ one: 1 }])
  expect(opened).toBe(2)
  await db.close()
})

test('if the only attempt to connect is refused, a second one is made before the database counts as lost', async () => {
  const url = readPostgresUrl(database.url)
  const lines: string[] = []
  const note = (_: object, line: string) => lines.push(line)
  let refusals = 1
  const db = new ServingDatabase(
    async timeoutMs => {
      if (refusals-- > 0) throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
      return await openFirst(url, timeoutMs)
    },
    BOUNDS,
    { info: note, warn: note },
  )
  const read = () => db.unsafe('select 1 as one', [], { prepare: false })
  expect([...((await read()) as object[])]).toEqual([{ one: 1 }])
  expect(lines).toEqual([])
  for (const connection of db.pool.connections) connection.destroy()
  refusals = 2
  await expect(read()).rejects.toThrow('it closes connections')
  expect(lines).toEqual([LOST])
  await db.close()
})

test('a statement that runs when the pool is closed is cancelled', async () => {
  const opened = await openDatabase(database.url, 1)
  const db = opened.pool({ ...BOUNDS, statementMs: 60_000 }, LOG)
  const asleep = Promise.resolve(db.unsafe('select pg_sleep(60)', [], { prepare: false }))
  const ending = asleep.catch(error => error)
  const sleeping = async () =>
    (
      await database.sql`select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`
    ).count
  await until('it sleeps', sleeping)
  await db.close()
  expect(await ending).toBeInstanceOf(DatabaseUnavailable)
  await until('no statement sleeps', async () => (await sleeping()) === 0)
  await opened.close()
})

test('a silent statement continues while no probe can be opened, as long as other statements get answers', async () => {
  const url = readPostgresUrl(database.url)
  let opened = 0
  let probes = 0
  const db = new ServingDatabase(
    async timeoutMs => {
      if (++opened <= 2) return await openFirst(url, timeoutMs)
      probes++
      await Bun.sleep(timeoutMs)
      throw timeoutError()
    },
    { ...BOUNDS, size: 2 },
    LOG,
  )
  let isOver = false
  const silent = Promise.resolve(db.unsafe(`select 'done' as it from pg_sleep(2)`, [], { prepare: false }))
  const ended = silent.finally(() => {
    isOver = true
  })
  while (!isOver) {
    await db.unsafe('select 1', [], { prepare: false })
    await Bun.sleep(20)
  }
  expect([...((await ended) as object[])]).toEqual([{ it: 'done' }])
  expect(probes).toBeGreaterThan(0)
  await db.close()
})

test('a statement continues when all connections are replaced and no further one can be opened', async () => {
  const url = readPostgresUrl(database.url)
  let isFull = false
  const db = new ServingDatabase(
    async timeoutMs => {
      if (isFull) throw Object.assign(new Error('too many connections'), { code: '53300' })
      return await openFirst(url, timeoutMs)
    },
    { ...BOUNDS, size: 2, waitMs: 5000 },
    LOG,
  )
  const running = Promise.resolve(db.unsafe(`select 'done' as it from pg_sleep(0.5)`, [], { prepare: false }))
  await until('the statement runs', () => db.pool.stats().inUse === 1)
  db.pool.replaceAll(true)
  isFull = true
  const waiting = Promise.resolve(db.unsafe(`select 'served' as it`, [], { prepare: false }))
  expect([...((await running) as object[])]).toEqual([{ it: 'done' }])
  expect(db.pool.unreachable).toBeUndefined()
  isFull = false
  expect([...((await waiting) as object[])]).toEqual([{ it: 'served' }])
  await db.close()
})
