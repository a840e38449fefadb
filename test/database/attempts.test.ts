import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createServer, type Socket } from 'node:net'
import { openFirst } from '../../src/database/connection/opening.ts'
import { codedError, DatabaseUnavailable, QueueTimeout } from '../../src/database/failures.ts'
import { ServingDatabase } from '../../src/database/pool/serving-database.ts'
import { readPostgresUrl } from '../../src/database/url.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'
import { FOUND, LOST } from '../support/wordings.ts'

const BOUNDS = { size: 4, waitMs: 10_000, statementMs: 10_000, slowMs: 10_000 }
const LOG = { info: () => {}, warn: () => {} }

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.close())

test('a server that takes longer to answer than the pauses between attempts is found again, and the log says how long both took', async () => {
  const url = readPostgresUrl(database.url)
  const lines: [string, Record<string, number>][] = []
  const note = (details: object, message: string) => lines.push([message, details as Record<string, number>])
  let isGone = true
  let attempts = 0
  const db = new ServingDatabase(
    async (timeoutMs, signal) => {
      if (isGone) throw codedError('ECONNREFUSED', 'refused')
      attempts++
      await Bun.sleep(2500)
      return await openFirst(url, timeoutMs, { signal })
    },
    BOUNDS,
    { info: note, warn: note },
  )
  await expect(db.unsafe('select 1', [], { prepare: false })).rejects.toThrow('nothing listens there')
  // Further attempts are refused meanwhile.
  await Bun.sleep(500)
  isGone = false
  await until('the database is found', () => db.pool.unreachable === undefined)
  // Others began meanwhile: a server that has just come back may not have seen the first one.
  expect(attempts).toBeGreaterThan(1)
  expect(lines.map(([message]) => message)).toEqual([LOST, FOUND])
  const { seconds = 0, refused_seconds = 0 } = lines[1]?.[1] ?? {}
  expect(refused_seconds).toBeGreaterThan(0)
  expect(seconds - refused_seconds).toBeGreaterThan(2.4)
  await db.close()
})

test.each(['disable', 'require'])(
  'a server that accepts connections and does not answer holds two at a time (sslmode=%s)',
  async mode => {
    const held = new Set<Socket>()
    let accepted = 0
    // The fewest held since the newest was accepted: the one that it replaces is closed a moment later.
    let fewest = 0
    let most = 0
    const server = createServer(socket => {
      most = Math.max(most, fewest)
      accepted++
      held.add(socket)
      fewest = held.size
      socket
        .resume()
        .on('error', () => {})
        .on('close', () => {
          held.delete(socket)
          fewest = Math.min(fewest, held.size)
        })
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const url = readPostgresUrl(`postgres://nobody@127.0.0.1:${port}/none?sslmode=${mode}`)
    const bounds = { ...BOUNDS, waitMs: 2500 }
    const db = new ServingDatabase((timeoutMs, signal) => openFirst(url, timeoutMs, { signal }), bounds, LOG)
    await expect(db.unsafe('select 1', [], { prepare: false })).rejects.toBeInstanceOf(DatabaseUnavailable)
    await until('it was tried often', () => accepted >= 8)
    expect(most).toBe(2)
    await db.close()
    await until('it holds none', () => held.size === 0)
    server.close()
  },
)

test('a request waits for a connection no longer than its deadline allows, though waitMs is longer', async () => {
  const url = readPostgresUrl(database.url)
  const db = new ServingDatabase(timeoutMs => openFirst(url, timeoutMs), { ...BOUNDS, size: 1 }, LOG)
  let isAsleep = true
  const sleeping = Promise.resolve(db.unsafe('select pg_sleep(3)', [], { prepare: false })).finally(() => {
    isAsleep = false
  })
  const late = db.forRequest({ deadline: performance.now() + 1500 })
  const waiting = Promise.resolve(late.unsafe('select 1', [], { prepare: false }))
  await expect(waiting).rejects.toBeInstanceOf(QueueTimeout)
  expect(isAsleep).toBe(true)
  await sleeping
  await db.close()
})
