import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openFirst } from '../../src/database/connection/opening.ts'
import { type Dial, dialPostgres } from '../../src/database/connection/wire.ts'
import { closedError, DatabaseUnavailable } from '../../src/database/failures.ts'
import { ServingDatabase } from '../../src/database/pool/serving-database.ts'
import { readPostgresUrl } from '../../src/database/url.ts'
import { NO_LOG, ONE, PATIENT } from '../support/lease.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { CUT } from '../support/wordings.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
  await database.sql`create table written (key integer primary key)`
})
afterAll(() => database.close())

const written = () => database.sql`select key from written`

test('a row that was inserted before its connection was lost is not inserted twice, and the request fails as for a lost connection', async () => {
  let isArmed = true
  const dial: Dial = async (...route) => {
    const wire = await dialPostgres(...route)
    const send = wire.send.bind(wire)
    wire.send = async (text, ...rest) => {
      const rows = await send(text, ...rest)
      if (!isArmed || !text.startsWith('insert')) return rows
      isArmed = false
      wire.destroy()
      throw closedError()
    }
    return wire
  }
  const url = readPostgresUrl(database.url)
  const db = new ServingDatabase(timeoutMs => openFirst(url, timeoutMs, { dial }), ONE, NO_LOG)
  const insert = db.forRequest(PATIENT).unsafe('insert into written values (1)', [], { prepare: false })
  const error = await Promise.resolve(insert).catch(failure => failure)
  expect(error).toBeInstanceOf(DatabaseUnavailable)
  expect(error.reason).toBe(CUT)
  expect([...(await written())]).toEqual([{ key: 1 }])
  await db.close()
})

test('a write that a read-only server refuses is repeated on another server, if there is one that can be written', async () => {
  const url = readPostgresUrl(`${database.url}?target_session_attrs=read-write`)
  let opened = 0
  const db = new ServingDatabase(
    async timeoutMs => {
      const connection = await openFirst(url, timeoutMs)
      // As the former primary after a switchover.
      if (opened++ === 0) await connection.query('set default_transaction_read_only = on', 5000)
      return connection
    },
    ONE,
    NO_LOG,
  )
  await db.forRequest(PATIENT).unsafe('insert into written values (2)', [], { prepare: false })
  expect(opened).toBe(2)
  // It says nothing about the server that is used now.
  expect(db.writes.isReadOnly).toBe(false)
  await db.close()
})
