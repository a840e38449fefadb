import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openDatabase } from '../../src/database/database.ts'
import { AnswerProxy } from '../support/answer-proxy.ts'
import { ask, NO_LOG, ONE, PATIENT } from '../support/pool.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'

let database: TestDatabase
let proxy: AnswerProxy
beforeAll(async () => {
  database = await openTestDatabase()
  await database.sql`create table written (key integer primary key)`
  proxy = await AnswerProxy.start(database.url)
})
afterAll(async () => {
  await proxy.stop()
  await database.close()
})

const written = () => database.sql`select key from written order by key`

test('an insert whose connection was lost after it was done is sent once more, and returns the row that is there', async () => {
  const opened = await openDatabase(proxy.url, 1)
  const db = opened.pool(ONE, NO_LOG)
  let sent = 0
  proxy.passes = async asked => !asked.includes('insert') || ++sent > 1
  const insert = `insert into written values (1) on conflict (key) do update set key = excluded.key returning key`
  expect(await ask(db.forRequest(PATIENT), insert)).toEqual([{ key: 1 }])
  expect(sent).toBe(2)
  expect([...(await written())]).toEqual([{ key: 1 }])
  await db.close()
  await opened.close()
})

test('a statement that is cut twice fails, because it is sent twice at most', async () => {
  const opened = await openDatabase(proxy.url, 1)
  const db = opened.pool(ONE, NO_LOG)
  let sent = 0
  proxy.passes = async asked => {
    if (!asked.includes('as one')) return true
    sent++
    return false
  }
  await expect(ask(db.forRequest(PATIENT), 'select 1 as one')).rejects.toThrow(
    'the connection to the database was lost',
  )
  expect(sent).toBe(2)
  await db.close()
  await opened.close()
})

test('a write that a read-only server refuses is sent once more, if the URL leads to one that takes it by now', async () => {
  const { sql, url } = database
  const name = new URL(url).pathname.slice(1)
  const db = database.pool(ONE, NO_LOG)
  const write = (key: number) =>
    ask(db.forRequest(PATIENT), `insert into written values (${key}) returning key`)
  await sql.unsafe(`alter database ${name} set default_transaction_read_only = on`)
  expect(await ask(db, 'show transaction_read_only')).toEqual([{ transaction_read_only: 'on' }])
  await expect(write(2)).rejects.toThrow('the database is read-only')
  expect(db.writes.isReadOnly).toBe(true)
  await sql.unsafe('set default_transaction_read_only = off')
  await sql.unsafe(`alter database ${name} reset default_transaction_read_only`)
  // It looks for another one once a second.
  await until('it is written', async () => (await write(3).catch(() => [])).length === 1)
  expect(await db.checkReadOnly()).toBe(false)
  await db.close()
})
