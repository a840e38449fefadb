import { describe, expect, test } from 'bun:test'
import type postgres from 'postgres'
import { expectUnavailable } from '../support/outage.ts'
import { until } from '../support/until.ts'
import { FOUND, LOST, NO_FURTHER } from '../support/wordings.ts'
import { useOutageServer } from './outage-server.ts'

const server = useOutageServer()

describe('if the database', () => {
  test('is killed and started again, requests get 503 meanwhile, and the service recovers without a restart', async () => {
    await server.start({}, server.own.url())
    expect((await server.service.list()).status).toBe(200)
    await server.own.crash()
    await expectUnavailable(server.service)
    await server.own.restart()
    await server.service.recovery()
    expect((await server.service.token()).status).toBe(200)
    // A server that is being killed may still accept connections.
    const reason = expect.stringMatching(/: (nothing listens there|it closes connections)$/)
    expect(server.service.newMessages()).toEqual([reason, FOUND])
  })

  test('stops answering, requests get 503 until it answers again', async () => {
    await server.start({ statementMs: 10_000 })
    await Promise.all([server.service.list(), server.service.list()])
    server.proxy.setNetwork({ is: 'silent' })
    await expectUnavailable(server.service)
    expect(server.service.newMessages()).toEqual([`${LOST}: it does not answer`])
    server.proxy.setNetwork({ is: 'normal' })
    await server.service.recovery()
    expect(server.service.newMessages()).toEqual([FOUND])
  })

  test('was restarted between two requests, the next request succeeds', async () => {
    await server.start({}, server.own.url())
    // The service asks the database each second: in most rounds it does not notice the restart before the request.
    await until('the request after an unnoticed restart succeeds', async () => {
      expect((await server.service.list()).status).toBe(200)
      server.service.newMessages()
      await server.own.crash()
      await server.own.restart()
      const { status } = await server.service.token()
      if (status === 200 && server.service.newMessages().length === 0) return true
      await server.service.recovery()
      return false
    })
    expect((await server.service.list()).status).toBe(200)
  })

  test('ends every connection at once, the next request succeeds', async () => {
    await server.start()
    await Promise.all([server.service.list(), server.service.list(), server.service.list()])
    server.proxy.cut()
    expect(
      (await Promise.all([server.service.list(), server.service.token()])).map(({ status }) => status),
    ).toEqual([200, 200])
    expect(server.service.newMessages()).toEqual([])
  })

  test('ends every connection while one is being opened, both requests succeed', async () => {
    await server.start()
    await server.service.list()
    const answers = await server.operator(sql =>
      sql.begin(async sql => {
        await sql`lock table export_records in access exclusive mode`
        const list = server.service.list()
        await untilBlocked(sql)
        const { accepted } = server.proxy
        server.proxy.setNetwork({ is: 'slow', milliseconds: 300 })
        const token = server.service.token()
        await until('a connection is being opened', () => server.proxy.accepted > accepted)
        server.proxy.setNetwork({ is: 'normal' })
        server.proxy.cut()
        return [list, token].map(async answer => (await answer).status)
      }),
    )
    expect(await Promise.all(answers)).toEqual([200, 200])
    expect(server.service.newMessages()).toEqual([])
  })

  /** The answer to a request whose connection is cut while its statement waits for a lock of the table. */
  const answerAcrossACut = (sql: postgres.Sql, table: string, ask: () => Promise<Response>) =>
    sql.begin(async sql => {
      await sql`lock table ${sql(table)} in access exclusive mode`
      const answer = ask()
      await untilBlocked(sql)
      await sql`select pg_terminate_backend(pid) from pg_locks where not granted`
      await untilBlocked(sql)
      return { answer }
    })

  test('cuts a connection during a read, the read is repeated on another connection', async () => {
    await server.start()
    await server.service.list()
    const { answer } = await server.operator(sql =>
      answerAcrossACut(sql, 'export_records', () => server.service.list()),
    )
    expect((await answer).status).toBe(200)
    expect(server.service.newMessages()).toEqual([])
  })

  test('cuts a connection while a token is issued, the token is issued exactly once on another connection', async () => {
    await server.start()
    await server.service.list()
    await server.operator(async sql => {
      const issued = async () => (await sql`select from access_tokens`).count
      const before = await issued()
      const { answer } = await answerAcrossACut(sql, 'access_tokens', () => server.service.token())
      expect((await answer).status).toBe(200)
      expect(await issued()).toBe(before + 1)
    })
  })

  test('accepts no further connection, requests share the open ones', async () => {
    await server.start({ statementMs: 10_000 })
    await server.service.list()
    const { sql, free } = await server.takeAll()
    await sql`begin`
    await sql`lock table export_records in access exclusive mode`
    const answers = Array.from({ length: 8 }, () => server.service.list())
    const messages = await until('the log says so', () => {
      const lines = server.service.newMessages()
      return lines.length > 0 && lines
    })
    await sql`rollback`
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(messages).toEqual([`${NO_FURTHER}: it has no connection left`])
    await free()
  })

  test('becomes read-only, no token can be issued, and reads still succeed', async () => {
    await server.start()
    const set = (value: 'on' | 'off') =>
      server.operator(async sql => {
        await sql.unsafe(`alter system set default_transaction_read_only = ${value}`)
        await sql`select pg_reload_conf()`
      })
    expect((await server.service.token()).status).toBe(200)
    await set('on')
    await until('no token is issued', async () => (await server.service.token()).status === 503)
    expect((await server.service.list()).status).toBe(200)
    await set('off')
    await server.service.recovery(server.service.token)
    expect(server.service.newMessages()).toEqual([
      expect.stringMatching(/^the database is read-only .*: no tokens/),
      expect.stringContaining('again'),
    ])
  })

  test('refuses a statement with an unforeseen error, the answer is a 500 and the log has the cause', async () => {
    await server.start()
    const tables = ['access_tokens', 'export_records']
    for (const table of tables)
      await server.operator(
        async sql => await sql`alter table ${sql(table)} rename to ${sql(`${table}_elsewhere`)}`,
      )
    const [list, token] = await Promise.all([server.service.list(), server.service.token()])
    for (const table of tables)
      await server.operator(
        async sql => await sql`alter table ${sql(`${table}_elsewhere`)} rename to ${sql(table)}`,
      )
    expect([list.status, token.status]).toEqual([500, 500])
    expect(await token.json()).toMatchObject({ error: 'server_error' })
    expect(server.service.newMessages()).toEqual(['unforeseen error', 'unforeseen error'])
  })
})

/** Waits until exactly one statement waits for a lock. */
const untilBlocked = (sql: postgres.ISql) =>
  until('one statement waits', async () => (await sql`select from pg_locks where not granted`).count === 1)
