import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ask, NO_LOG, ONE, PATIENT } from '../support/pool.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'
import { DISK_FULL } from '../support/wordings.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.close())

/** A statement that fails with an SQLSTATE. */
const failing = (code: string) => `do $$ begin raise exception 'short' using errcode = '${code}'; end $$`

test('a read that a full disk fails, as on a standby, says nothing about tokens, and is logged once', async () => {
  const lines: [object, string][] = []
  const note = (details: object, message: string) => void lines.push([details, message])
  const db = database.pool(ONE, { info: note, warn: note })
  for (let time = 0; time < 3; time++) {
    const read = db.forRequest(PATIENT).unsafe(failing('53100'), [], { prepare: false })
    await expect(Promise.resolve(read)).rejects.toThrow(DISK_FULL)
  }
  expect(lines).toEqual([[{ code: '53100' }, `${DISK_FULL}: a statement was refused`]])
  expect(db.writes.why('tokens')).toBeUndefined()
  expect(db.writes.why('disclosures')).toBeUndefined()
  expect(db.writes.shortages).toBe(3)
  await db.close()
})

test('a statement that records a disclosure goes before those that wait to read', async () => {
  const { sql } = database
  const lock = await sql.reserve()
  await lock`select pg_advisory_lock(1)`
  const db = database.pool(ONE, NO_LOG)
  const order: string[] = []
  const run = (name: string, writes?: 'disclosures', text = 'select 1') =>
    ask(db.forRequest({ ...PATIENT, writes }), text).then(() => order.push(name))
  const all = [run('holds', undefined, 'select pg_advisory_lock(1)')]
  await until('the only connection is in use', () => db.isBusy())
  all.push(run('reads'), run('reads'), run('records', 'disclosures'))
  await until('all wait', () => db.stats().waiting === 3)
  await lock`select pg_advisory_unlock(1)`
  lock.release()
  await Promise.all(all)
  expect(order).toEqual(['holds', 'records', 'reads', 'reads'])
  await db.close()
})
