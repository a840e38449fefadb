import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createServer } from 'node:net'
import { SYSTEM_CLOCK } from '../../src/database/connection/clock.ts'
import type { Connection } from '../../src/database/connection/connection.ts'
import { openFirst } from '../../src/database/connection/opening.ts'
import { type Dial, dialPostgres } from '../../src/database/connection/wire.ts'
import { timeoutError } from '../../src/database/failures.ts'
import { ServingDatabase } from '../../src/database/pool/serving-database.ts'
import { type PostgresUrl, readPostgresUrl } from '../../src/database/url.ts'
import { FlakyProxy } from '../support/flaky-proxy.ts'
import { freePort } from '../support/free-port.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.close())

/** The event loop finishes all microtasks before it reads again. Between two of them, others may act. */
const MICROTASKS = Array.from({ length: 10 }, (_, count) => count)

/** Acts after this many microtasks. */
async function after(microtasks: number, act: () => unknown): Promise<void> {
  for (let done = 0; done < microtasks; done++) await undefined
  act()
}

test('a connection that ends right after the answer to its test is not usable', async () => {
  for (const count of MICROTASKS) {
    let isArmed = false
    let connection: Connection
    const dial: Dial = async (...route) => {
      const wire = await dialPostgres(...route)
      const send = wire.send.bind(wire)
      wire.send = (...statement) => {
        const sent = send(...statement)
        if (isArmed) void sent.then(() => after(count, () => connection.destroy()))
        return sent
      }
      return wire
    }
    connection = await openFirst(readPostgresUrl(database.url), 5000, { dial })
    isArmed = true
    const isUsable = await connection.test()
    // It may also end a moment later.
    if (!isUsable) expect(connection.isClosed).toBe(true)
    connection.destroy()
  }
})

test('a connection ends if its server has not accepted the cancel request in time, which may come later', async () => {
  const dial: Dial = async (...route) => {
    const wire = await dialPostgres(...route)
    wire.cancel = () => Promise.reject(timeoutError())
    return wire
  }
  const connection = await openFirst(readPostgresUrl(database.url), 5000, { dial })
  connection.take()
  const sleeping = connection.run('select pg_sleep(0.5)', [], { prepare: false })
  connection.cancel()
  await expect(sleeping).rejects.toThrow('no answer in time')
  expect(connection.isClosed).toBe(true)
})

test('a pool that is closed right after an attempt has succeeded keeps no connection', async () => {
  const url = readPostgresUrl(database.url)
  for (const count of MICROTASKS) {
    let opened: Connection | undefined
    const db = new ServingDatabase(
      async timeoutMs => {
        opened = await openFirst(url, timeoutMs)
        void after(count, () => db.close())
        return opened
      },
      { size: 1, waitMs: 5000, statementMs: 5000, slowMs: 5000 },
      { info: () => {}, warn: () => {} },
    )
    await Promise.allSettled([db.unsafe('select 1', [], { prepare: false })])
    await until('the connection is closed', () => opened?.isClosed === true)
  }
})

test('prefer-standby asks each server once, for an equal share of the time, and uses the primary if no standby answers', async () => {
  const url = readPostgresUrl(`${database.url}?sslmode=disable`)
  const [primary] = url.addresses
  const nobody = { host: '127.0.0.1', port: await freePort() }
  const both: PostgresUrl = { ...url, addresses: [...url.addresses, nobody], target: 'prefer-standby' }
  const asked: unknown[] = []
  const dial: Dial = (start, timeoutMs, signal) => {
    asked.push([start.route.address, timeoutMs])
    return dialPostgres(start, timeoutMs, signal)
  }
  const clock = { ...SYSTEM_CLOCK, now: () => 0 }
  const connection = await openFirst(both, 60_000, { dial, clock })
  expect([connection.isClosed, connection.isStandby]).toEqual([false, false])
  expect(asked).toEqual([
    [primary, 30_000],
    [nobody, 30_000],
  ])
  await connection.close()
})

test('an attempt that is ended while it looks for a standby leaves no connection to the primary behind', async () => {
  const primary = await FlakyProxy.start(database.url)
  let isAsked = false
  const silent = createServer(() => {
    isAsked = true
  })
  await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as { port: number }
  const url = readPostgresUrl(primary.url)
  const nobody = { host: '127.0.0.1', port }
  const three: PostgresUrl = {
    ...url,
    addresses: [...url.addresses, nobody, nobody],
    target: 'prefer-standby',
  }
  const attempt = new AbortController()
  // As a pool does.
  const over = openFirst(three, 30_000, { signal: attempt.signal }).then(
    connection => connection.destroy(),
    () => {},
  )
  await until('the next server is asked', () => isAsked)
  expect(primary.connections).toBe(1)
  attempt.abort()
  await over
  await until('no connection is left', () => primary.connections === 0)
  silent.close()
  await primary.stop()
})
