import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect, createServer, type Server } from 'node:net'
import { openDatabase } from '../../src/database/database.ts'
import { ask, NO_LOG, ONE, PATIENT, together } from '../support/lease.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'

describe('the statements of a lease', () => {
  let database: TestDatabase
  let holder: Server
  let url: string
  /** Whether answers are held back until the server has got a COMMIT. */
  let isHeld = false

  beforeAll(async () => {
    database = await openTestDatabase()
    const server = new URL(database.url)
    holder = createServer(client => {
      const upstream = connect(Number(server.port), server.hostname)
      let held: Buffer[] = []
      client.on('data', data => {
        upstream.write(data)
        if (!data.includes('commit')) return
        isHeld = false
        for (const answer of held) client.write(answer)
        held = []
      })
      upstream.on('data', data => (isHeld ? held.push(Buffer.from(data)) : client.write(data)))
      for (const [one, other] of [[client, upstream] as const, [upstream, client] as const])
        one.on('close', () => other.destroy()).on('error', () => {})
    })
    await new Promise<void>(resolve => holder.listen(0, '127.0.0.1', resolve))
    const { port } = holder.address() as { port: number }
    url = database.url.replace(server.host, `127.0.0.1:${port}`)
  })
  afterAll(async () => {
    holder?.close()
    await database?.close()
  })

  test('that are sent without awaiting between them travel in one round trip, with BEGIN and COMMIT', async () => {
    const opened = await openDatabase(url, 1)
    const pool = opened.pool({ ...ONE, statementMs: 2000 }, NO_LOG)
    const read = () =>
      pool.forRequest(PATIENT).lease(async lease => {
        lease.begin()
        return await together(lease, ...[1, 2, 3].map(n => ask(lease, `select ${n} + $1::integer as n`, 1)))
      })
    // The first use of a statement by a connection prepares it, with a round trip of its own.
    await read()
    isHeld = true
    expect(await read()).toEqual([{ n: 2 }, { n: 3 }, { n: 4 }])
    expect(isHeld).toBe(false)
    await pool.close()
    await opened.close()
  })

  test('that are not prepared do so as well, although they have parameters', async () => {
    const opened = await openDatabase(url, 1)
    const db = opened.pool({ ...ONE, statementMs: 2000 }, NO_LOG)
    await db.unsafe('select 1', [], { prepare: false })
    isHeld = true
    const read = db.forRequest(PATIENT).lease(async lease => {
      lease.begin()
      const rows = lease.unsafe('select $1::integer as n', [5], { prepare: false })
      await lease.commit()
      return [...((await rows) as object[])]
    })
    expect(await read).toEqual([{ n: 5 }])
    expect(isHeld).toBe(false)
    await db.close()
    await opened.close()
  })
})
