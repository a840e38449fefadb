import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import pino from 'pino'
import type { ServingDatabase } from '../../src/database/pool.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'

const BOUNDS = { size: 1, waitMs: 5000, statementMs: 5000, slowMs: 5000 }

/** Sends some rows, and then an error. */
const HALF = 'select 1 / (3 - n) as quotient from generate_series(1, 5) as n'

describe('after a statement that failed after its first rows', () => {
  let database: TestDatabase
  let pool: ServingDatabase

  beforeAll(async () => {
    database = await openTestDatabase()
    pool = database.pool(BOUNDS, pino({ level: 'silent' }))
  })
  afterAll(async () => {
    await pool?.close()
    await database?.close()
  })

  const rows = async (text: string, bytes = false) => [
    ...((await pool.unsafe(text, [], { prepare: true, bytes })) as unknown[]),
  ]

  test('the next statement gets exactly its own rows', async () => {
    for (const bytes of [false, true]) {
      await expect(rows(HALF, bytes)).rejects.toThrow('division by zero')
      expect(await rows('select 7 as n')).toEqual([{ n: 7 }])
      expect(await rows('select 7 as n')).toEqual([{ n: 7 }])
    }
  })

  test('the next statement for raw rows gets exactly its own rows', async () => {
    await expect(rows(HALF)).rejects.toThrow('division by zero')
    expect(await rows('select 7', true)).toEqual([[Buffer.from('7')]])
  })
})
