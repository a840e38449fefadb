import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ClientGone, StatementTimeout } from '../../src/database/failures.ts'
import type { ServingDatabase } from '../../src/database/pool/serving-database.ts'
import type { Lease } from '../../src/database/statement.ts'
import { ask, NO_LOG, ONE, PATIENT, together } from '../support/lease.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'
import { CUT } from '../support/wordings.ts'

const pid = async (lease: Lease) => Number((await ask(lease, 'select pg_backend_pid() as pid'))[0]?.pid)

describe('a lease on a Postgres', () => {
  let database: TestDatabase
  let db: ServingDatabase

  beforeAll(async () => {
    database = await openTestDatabase()
    db = database.pool({ ...ONE, statementMs: 1500 }, NO_LOG)
  })
  afterAll(async () => {
    await db?.close()
    await database?.close()
  })

  test('whose backend is ended between two statements runs once more from the beginning', async () => {
    const pids: number[] = []
    const { sql } = database
    const rows = await db.forRequest(PATIENT).lease(async lease => {
      pids.push(await pid(lease))
      if (pids.length === 1) {
        await sql`select pg_terminate_backend(${pids[0] as number})`
        await until('the connection has ended', () => db.pool.connections.size === 0)
      }
      return await ask(lease, 'select $1::integer as run', pids.length)
    })
    expect(rows).toEqual([{ run: 2 }])
    expect(new Set(pids).size).toBe(2)
  })

  test('that is cut twice fails, because it runs twice at most', async () => {
    let runs = 0
    const { sql } = database
    const cut = db.forRequest(PATIENT).lease(async lease => {
      runs++
      await sql`select pg_terminate_backend(${await pid(lease)})`
      await until('the connection has ended', () => db.pool.connections.size === 0)
      return await ask(lease, 'select 1 as one')
    })
    await expect(cut).rejects.toThrow(CUT)
    expect(runs).toBe(2)
  })

  test('settles all its statements if it is cut before they were sent', async () => {
    const { sql } = database
    const settled: string[][] = []
    const rows = await db.forRequest(PATIENT).lease(async lease => {
      const backend = await pid(lease)
      // The first use of a statement takes a round trip of its own, for which the next ones wait.
      const sent = [0.3, 0.1, 0.2].map(seconds => ask(lease, `select pg_sleep($1), ${seconds}`, seconds))
      if (settled.length === 0) await sql`select pg_terminate_backend(${backend})`
      const all = await Promise.allSettled(sent)
      settled.push(all.map(({ status }) => status))
      return settled.length
    })
    expect(rows).toBe(2)
    expect(settled).toEqual([Array(3).fill('rejected'), Array(3).fill('fulfilled')])
  })

  test('has one deadline for all its statements, and its time goes on between them', async () => {
    const startedAt = performance.now()
    let backend = 0
    const late = db.forRequest(PATIENT).lease(async lease => {
      lease.begin()
      backend = await pid(lease)
      for (;;) {
        await ask(lease, 'select pg_sleep(0.1)')
        await Bun.sleep(100)
      }
    })
    await expect(late).rejects.toBeInstanceOf(StatementTimeout)
    expect(performance.now() - startedAt).toBeGreaterThan(1900)
    await until('its transaction has ended', async () => {
      const { count } = await database.sql`select from pg_stat_activity where pid = ${backend}`
      return count === 0
    })
  })

  test('whose client hangs up while a statement runs has it cancelled, and its connection ended', async () => {
    const patient = database.pool({ ...ONE, statementMs: 60_000 }, NO_LOG)
    const client = new AbortController()
    const gone = patient.forRequest(client).lease(async lease => {
      lease.begin()
      return await together(lease, ask(lease, 'select pg_sleep(60)'), ask(lease, 'select 2 as two'))
    })
    const ending = gone.catch(error => error)
    const sleeping = async () =>
      (
        await database.sql`select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`
      ).count === 1
    await until('it sleeps', sleeping)
    client.abort()
    expect(await ending).toBeInstanceOf(ClientGone)
    await until('it has ended', async () => !(await sleeping()) && patient.pool.connections.size === 0)
    expect(await ask(patient.forRequest(PATIENT), 'select 7 as n')).toEqual([{ n: 7 }])
    await patient.close()
  })

  test('runs once more if a table has changed since its statements were prepared', async () => {
    const { sql } = database
    await sql.unsafe('create table changing as select 1 as changes')
    let runs = 0
    const TEXT = 'select *, $1::integer as n from changing'
    const read = () =>
      db.forRequest(PATIENT).lease(async lease => {
        runs++
        lease.begin()
        return await together(lease, ask(lease, TEXT, 1), ask(lease, 'select 2 as two'))
      })
    await read()
    await sql.unsafe('alter table changing alter column changes type text')
    expect(await read()).toEqual([{ changes: '1', n: 1 }, { two: 2 }])
    expect(runs).toBe(3)
  })
})
