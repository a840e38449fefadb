import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ONE, PATIENT } from '../support/pool.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
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
