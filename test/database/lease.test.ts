import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { ClientGone } from '../../src/database/failures.ts'
import type { ServingDatabase } from '../../src/database/pool/serving-database.ts'
import { statement } from '../../src/database/statement.ts'
import { ask, NO_LOG, ONE, PATIENT, together } from '../support/lease.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'

const divide = statement<{ by: number }, object>(sql`select 1 / ${sql.placeholder('by')}::integer`)

describe('a lease on a connection', () => {
  let database: TestDatabase
  let db: ServingDatabase

  beforeAll(async () => {
    database = await openTestDatabase()
    db = database.pool(ONE, NO_LOG)
  })
  afterAll(async () => {
    await db?.close()
    await database?.close()
  })

  const leases = () => db.forRequest(PATIENT)
  const connection = () => [...db.pool.connections][0]

  /** Another request gets its own answer. */
  async function expectUnharmed(): Promise<void> {
    expect(await ask(leases(), 'select $1::integer as n', 7)).toEqual([{ n: 7 }])
    expect(db.pool.stats()).toEqual({ inUse: 0, idle: 1, waiting: 0 })
  }

  test('reads one snapshot in a transaction, in which nothing can be written', async () => {
    const rows = await leases().lease(async lease => {
      lease.begin()
      const settings = `
        select current_setting('transaction_isolation') as isolation, current_setting('transaction_read_only') as reads`
      return await together(lease, ask(lease, settings))
    })
    expect(rows).toEqual([{ isolation: 'repeatable read', reads: 'on' }])
    await expectUnharmed()
  })

  test('keeps its connection for all its statements and returns it', async () => {
    await expectUnharmed()
    const before = connection()
    await leases().lease(async lease => {
      for (let n = 0; n < 3; n++) expect(await ask(lease, 'select $1::integer as n', n)).toEqual([{ n }])
      expect(db.pool.stats()).toEqual({ inUse: 1, idle: 0, waiting: 0 })
    })
    await expectUnharmed()
    expect(connection()).toBe(before)
  })

  test.each([
    ['awaited one by one', false],
    ['sent together', true],
  ])(
    'fails with the error of its first failed statement, and never harms the next: %s',
    async (_, isTogether) => {
      let others: PromiseSettledResult<unknown>[] = []
      const failing = leases().lease(async lease => {
        lease.begin()
        const failed = ask(lease, 'select 1 / $1::integer', 0)
        if (!isTogether) return void (await failed)
        // The work may swallow the error.
        others = await Promise.allSettled([failed, ask(lease, 'select 2 as two'), lease.commit()])
      })
      await expect(failing).rejects.toThrow('division by zero')
      for (const { status, reason } of others as PromiseRejectedResult[])
        expect([status, reason?.message]).toEqual(['rejected', 'division by zero'])
      await expectUnharmed()
    },
  )

  test('settles statements that nobody awaits any more', async () => {
    const failing = leases().lease(async lease => {
      lease.begin()
      const first = divide(lease, { by: 0 })
      void divide(lease, { by: 1 })
      await lease.commit()
      await first
    })
    await expect(failing).rejects.toThrow('division by zero')
    // An unhandled rejection would fail this test.
    await Bun.sleep(20)
    await expectUnharmed()
  })

  test.each([
    ['outside a transaction the connection stays', false],
    ['in a transaction the connection ends', true],
  ])('passes an error of its work on: %s', async (_, isTransaction) => {
    await expectUnharmed()
    const before = connection()
    const failing = leases().lease(async lease => {
      if (isTransaction) lease.begin()
      await ask(lease, 'select 1 as one')
      throw new Error('of the work')
    })
    await expect(failing).rejects.toThrow('of the work')
    await expectUnharmed()
    expect(connection() === before).toBe(!isTransaction)
  })

  test('never returns a connection whose transaction the work has left open', async () => {
    await leases().lease(async lease => {
      lease.begin()
      await ask(lease, 'select 1 as one')
    })
    await expectUnharmed()
    expect(await ask(leases(), `select current_setting('transaction_read_only') as reads`)).toEqual([
      { reads: 'off' },
    ])
  })

  test('of one statement that fails leaves its connection usable', async () => {
    await expectUnharmed()
    const before = connection()
    await expect(ask(leases(), 'select 1 / $1::integer', 0)).rejects.toThrow('division by zero')
    await expect(ask(leases(), 'select no_such_column')).rejects.toThrow('no_such_column')
    await expectUnharmed()
    expect(connection()).toBe(before)
  })

  test.each([
    ['outside a transaction', false],
    ['in a transaction', true],
  ])('whose client hangs up between two statements fails at the next one: %s', async (_, isTransaction) => {
    const client = new AbortController()
    let next: unknown
    const gone = db.forRequest(client).lease(async lease => {
      if (isTransaction) lease.begin()
      await ask(lease, 'select 1 as one')
      client.abort()
      next = await ask(lease, 'select 2 as two').catch(error => error)
      return 'an answer'
    })
    await expect(gone).rejects.toBeInstanceOf(ClientGone)
    expect(next).toBeInstanceOf(ClientGone)
    await expectUnharmed()
  })

  test('whose transaction is idle for a second is ended by the server, and its read runs once more', async () => {
    let runs = 0
    const rows = await leases().lease(async lease => {
      runs++
      lease.begin()
      await ask(lease, 'select 1 as one')
      const ended = connection()
      if (runs === 1) await until('the server has ended the transaction', () => ended?.isClosed)
      return await together(lease, ask(lease, 'select $1::integer as run', runs))
    })
    expect(rows).toEqual([{ run: 2 }])
    await expectUnharmed()
  })
})
