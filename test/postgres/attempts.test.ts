import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openFirst } from '../../src/postgres/connection/opening.ts'
import { readPostgresUrl } from '../../src/postgres/connection/url.ts'
import { codedError, QueueTimeout } from '../../src/postgres/failures.ts'
import { ServingDatabase } from '../../src/postgres/pool/serving-database.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'

const BOUNDS = { size: 4, waitMs: 10_000, statementMs: 10_000, slowMs: 10_000 }
const LOG = { info: () => {}, warn: () => {} }

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase('postgres')
})
afterAll(() => database.close())

test('a server that takes longer to answer than the pauses between attempts is found again', async () => {
  const url = readPostgresUrl(database.url)
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
    LOG,
  )
  await expect(db.unsafe('select 1', [], { prepare: false })).rejects.toThrow('nothing listens there')
  isGone = false
  await until('the database is found', () => db.pool.unreachable === undefined)
  // Others began meanwhile: a server that has just come back may not have seen the first one.
  expect(attempts).toBeGreaterThan(1)
  await db.close()
})

test('a request waits for a connection no longer than its deadline allows, though DATABASE_WAIT is longer', async () => {
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
