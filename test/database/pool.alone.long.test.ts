import { describe, expect, test } from 'bun:test'
import { createServer, type Socket } from 'node:net'
import {
  ClientGone,
  DatabaseUnavailable,
  QueueTimeout,
  StatementTimeout,
} from '../../src/database/failures.ts'
import { ServingDatabase } from '../../src/database/pool.ts'
import { readPostgresUrl } from '../../src/database/url.ts'
import { FlakyProxy } from '../support/flaky-proxy.ts'
import { ask, BOUNDS, logged, NO_LOG, pidOf, usePools } from '../support/pool.ts'
import { until } from '../support/until.ts'

const { database, open, closing } = usePools()

const sleeping = async () =>
  (
    await database.sql`
      select pid from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`
  ).map(({ pid }) => pid as number)

describe('a statement', () => {
  test('on a connection that the network has dropped is sent once more, and a long one beside it goes on', async () => {
    const proxy = await FlakyProxy.start(database.url)
    closing.push(() => proxy.stop())
    const db = await open({ size: 2 }, NO_LOG, proxy.url)
    await pidOf(db)
    proxy.setNetwork({ is: 'silent' })
    proxy.setNetwork({ is: 'normal' })
    const startedAt = performance.now()
    const dropped = ask(db, `select 'dropped' as it`)
    const long = ask(db, `select 'long' as it from pg_sleep(4)`)
    await until('the long one runs', async () => (await sleeping()).length === 1)
    const [pid] = await sleeping()
    expect(await dropped).toEqual([{ it: 'dropped' }])
    expect(performance.now() - startedAt).toBeLessThan(3500)
    expect(await sleeping()).toEqual([pid as number])
    expect(await long).toEqual([{ it: 'long' }])
  })

  test('is sent once more although every connection of the pool was ended under a statement', async () => {
    const db = await open({ size: 3 })
    const all = Promise.all([1, 2, 3].map(n => ask(db, `select ${n} as n from pg_sleep(0.5)`)))
    await until('all run', async () => (await sleeping()).length === 3)
    for (const pid of await sleeping()) await database.sql`select pg_terminate_backend(${pid})`
    expect((await all).flat()).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
  })

  test('whose process is frozen before it gets it is sent once more within three seconds', async () => {
    const { lines, log } = logged()
    const db = await open({ size: 2 }, log)
    const pid = await pidOf(db)
    await until('it waits for its client', async () => {
      const { count } = await database.sql`
        select from pg_stat_activity where pid = ${pid} and wait_event = 'ClientRead'`
      return count
    })
    process.kill(pid, 'SIGSTOP')
    try {
      const startedAt = performance.now()
      expect(await ask(db, 'select 1 as one')).toEqual([{ one: 1 }])
      expect(performance.now() - startedAt).toBeWithin(900, 3200)
      const again = performance.now()
      expect(await pidOf(db)).not.toBe(pid)
      expect(performance.now() - again).toBeLessThan(500)
      expect(lines).toEqual([])
    } finally {
      process.kill(pid, 'SIGCONT')
    }
  })

  test('that a cancel request for the one before it hits is sent once more', async () => {
    const db = await open({ size: 1 })
    const client = new AbortController()
    const gone = ask(db.forRequest(client), 'select pg_sleep(60)').catch(error => error)
    await until('it runs', async () => (await sleeping()).length === 1)
    client.abort()
    expect(await gone).toBeInstanceOf(ClientGone)
    const next = ask(db, 'select 7 as n from pg_sleep(0.5)')
    await until('the next one runs', async () => (await sleeping()).length === 1)
    for (const pid of await sleeping()) await database.sql`select pg_cancel_backend(${pid})`
    expect(await next).toEqual([{ n: 7 }])
  })

  test('that somebody else cancels fails as one that takes too long', async () => {
    const db = await open({ size: 1 })
    const cancelled = ask(db, 'select pg_sleep(60)').catch(error => error)
    await until('it runs', async () => (await sleeping()).length === 1)
    for (const pid of await sleeping()) await database.sql`select pg_cancel_backend(${pid})`
    expect(await cancelled).toBeInstanceOf(StatementTimeout)
  })

  test('waits for a connection no longer than its deadline allows, though waitMs is longer', async () => {
    const db = await open({ size: 1 })
    const long = ask(db, 'select pg_sleep(2)')
    const late = db.forRequest({ deadline: performance.now() + 1500 })
    const startedAt = performance.now()
    await expect(ask(late, 'select 1')).rejects.toBeInstanceOf(QueueTimeout)
    expect(performance.now() - startedAt).toBeLessThan(1500)
    await long
  })

  test('that runs when the pool is closed is cancelled', async () => {
    const db = await open({ statementMs: 60_000 })
    const ending = ask(db, 'select pg_sleep(60)').catch(error => error)
    await until('it runs', async () => (await sleeping()).length === 1)
    await db.close()
    expect(await ending).toBeInstanceOf(Error)
    await until('nothing runs', async () => (await sleeping()).length === 0)
  })
})

describe('a server', () => {
  test.concurrent.each(['disable', 'require'])(
    'that accepts connections and never answers holds two at a time (sslmode=%s)',
    async mode => {
      const held = new Set<Socket>()
      let accepted = 0
      let most = 0
      const server = createServer(socket => {
        accepted++
        held.add(socket)
        most = Math.max(most, held.size)
        socket
          .resume()
          .on('error', () => {})
          .on('close', () => held.delete(socket))
      })
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as { port: number }
      const url = readPostgresUrl(`postgres://nobody@127.0.0.1:${port}/none?sslmode=${mode}`)
      const silent = new ServingDatabase({ readUrl: () => url, optional: {} }, BOUNDS, NO_LOG)
      const startedAt = performance.now()
      await expect(ask(silent, 'select 1')).rejects.toBeInstanceOf(DatabaseUnavailable)
      expect(performance.now() - startedAt).toBeLessThan(4000)
      await until('it was tried again', () => accepted >= 4)
      expect(most).toBe(2)
      await silent.close()
      await until('it holds none', () => held.size === 0)
      server.close()
    },
  )
})
