import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import postgres from 'postgres'
import { type OwnCluster, startCluster } from '../support/cluster.ts'
import { FlakyProxy } from '../support/flaky-proxy.ts'
import { expectUnavailable, fill, type OutageService, startOutageService } from '../support/outage.ts'
import type { TestLimits } from '../support/service.ts'
import { until } from '../support/until.ts'
import { FOUND, LOST } from '../support/wordings.ts'

/** Short, so that the tests of these limits are short. */
const LIMITS = { statementMs: 2000, size: 4 }
const NO_FURTHER = 'the database takes no further connection'
/** In milliseconds: until a silent database counts as lost, and the delay of a busy machine. */
const WAIT = 4500

let own: OwnCluster
let proxy: FlakyProxy
let credentials: Awaited<ReturnType<typeof fill>>
let service: OutageService

beforeAll(async () => {
  own = await startCluster({ settings: { max_connections: '20', superuser_reserved_connections: '0' } })
  credentials = await fill(own.url())
  proxy = await FlakyProxy.start(own.url())
})
afterEach(async () => {
  proxy.setNetwork({ is: 'normal' })
  await service.stop()
})
afterAll(async () => {
  await proxy.stop()
  await own.stop()
})

const start = async (limits: TestLimits = {}, url = proxy.url) => {
  service = await startOutageService(url, credentials, { ...LIMITS, ...limits })
}

/** Calls `work` with a connection that does not use the proxy. */
async function operator<Result>(work: (sql: postgres.Sql) => Promise<Result>): Promise<Result> {
  const sql = postgres(own.url(), { max: 1, fetch_types: false, onnotice: () => {} })
  try {
    return await work(sql)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

describe('if the database', () => {
  test('is killed and started again, requests get 503 meanwhile, and the service recovers without a restart', async () => {
    await start({}, own.url())
    expect((await service.list()).status).toBe(200)
    await own.crash()
    await expectUnavailable(service, WAIT)
    // The outage is known by now, so no request waits.
    await expectUnavailable(service, 500)
    await own.restart()
    await service.recovery()
    expect((await service.token()).status).toBe(200)
    // A server that is being killed may still accept connections.
    const reason = expect.stringMatching(/: (nothing listens there|it closes connections)$/)
    expect(service.newMessages()).toEqual([reason, FOUND])
  })

  test('was restarted between two requests, the next request succeeds', async () => {
    await start({}, own.url())
    // The service asks the database each second: in most rounds it does not notice the restart before the request.
    await until('the request after an unnoticed restart succeeds', async () => {
      expect((await service.list()).status).toBe(200)
      service.newMessages()
      await own.crash()
      await own.restart()
      const { status } = await service.token()
      if (status === 200 && service.newMessages().length === 0) return true
      await service.recovery()
      return false
    })
    expect((await service.list()).status).toBe(200)
  })

  test('ends every connection at once, the next request succeeds', async () => {
    await start()
    await Promise.all([service.list(), service.list(), service.list()])
    proxy.cut()
    expect((await Promise.all([service.list(), service.token()])).map(({ status }) => status)).toEqual([
      200, 200,
    ])
    expect(service.newMessages()).toEqual([])
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
    await start()
    await service.list()
    const { answer } = await operator(sql => answerAcrossACut(sql, 'export_records', () => service.list()))
    expect((await answer).status).toBe(200)
    expect(service.newMessages()).toEqual([])
  })

  test('cuts a connection while a token is issued, the token is issued exactly once on another connection', async () => {
    await start()
    await service.list()
    await operator(async sql => {
      const issued = async () => (await sql`select from access_tokens`).count
      const before = await issued()
      const { answer } = await answerAcrossACut(sql, 'access_tokens', () => service.token())
      expect((await answer).status).toBe(200)
      expect(await issued()).toBe(before + 1)
    })
  })

  test('stops answering, requests wait for less than four seconds', async () => {
    await start({ statementMs: 10_000 })
    await Promise.all([service.list(), service.list()])
    proxy.setNetwork({ is: 'silent' })
    await expectUnavailable(service, WAIT)
    await expectUnavailable(service, 500)
    expect(service.newMessages()).toEqual([`${LOST}: it does not answer`])
    proxy.setNetwork({ is: 'normal' })
    await service.recovery()
    expect(service.newMessages()).toEqual([FOUND])
  })

  test('is behind a load balancer that accepts and closes connections, attempts to connect have pauses', async () => {
    await start()
    await service.list()
    proxy.setNetwork({ is: 'closing' })
    proxy.cut()
    await expectUnavailable(service, 500)
    const before = proxy.accepted
    await Bun.sleep(1000)
    expect(proxy.accepted - before).toBeWithin(1, 20)
    expect(service.newMessages()).toEqual([`${LOST}: it closes connections`])
    proxy.setNetwork({ is: 'normal' })
    await service.recovery(service.token)
    expect(service.newMessages()).toEqual([FOUND])
  })

  test('accepts no further connection, requests share the open ones', async () => {
    await start({ statementMs: 10_000 })
    await service.list()
    const { sql, free } = await takeAll()
    await sql`begin`
    await sql`lock table export_records in access exclusive mode`
    const answers = Array.from({ length: 8 }, () => service.list())
    const messages = await until('the log says so', () => {
      const lines = service.newMessages()
      return lines.length > 0 && lines
    })
    await sql`rollback`
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(messages).toEqual([`${NO_FURTHER}: it has no connection left`])
    await free()
  })

  test('accepts no connection at all, requests get 503', async () => {
    await start()
    const { free } = await takeAll()
    await expectUnavailable(service, WAIT)
    expect(service.newMessages()).toEqual([`${NO_FURTHER}: it has no connection left`])
    await free()
    await service.recovery()
  })

  test('becomes read-only, no token can be issued, and reads still succeed', async () => {
    await start()
    const set = (value: 'on' | 'off') =>
      operator(async sql => {
        await sql.unsafe(`alter system set default_transaction_read_only = ${value}`)
        await sql`select pg_reload_conf()`
      })
    expect((await service.token()).status).toBe(200)
    await set('on')
    await until('no token is issued', async () => (await service.token()).status === 503)
    expect((await service.list()).status).toBe(200)
    await set('off')
    await service.recovery(service.token)
    expect(service.newMessages()).toEqual([
      expect.stringMatching(/^the database is read-only .*: no tokens/),
      expect.stringContaining('again'),
    ])
  })

  test('refuses a statement with an unforeseen error, the answer is a 500 and the log has the cause', async () => {
    await start()
    const tables = ['access_tokens', 'export_records']
    for (const table of tables)
      await operator(async sql => await sql`alter table ${sql(table)} rename to ${sql(`${table}_elsewhere`)}`)
    const [list, token] = await Promise.all([service.list(), service.token()])
    for (const table of tables)
      await operator(async sql => await sql`alter table ${sql(`${table}_elsewhere`)} rename to ${sql(table)}`)
    expect([list.status, token.status]).toEqual([500, 500])
    expect(await token.json()).toMatchObject({ error: 'server_error' })
    expect(service.newMessages()).toEqual(['unforeseen error', 'unforeseen error'])
  })
})

/** Takes every free connection of the server. Returns one of them, and a function that closes all. */
async function takeAll(): Promise<{ sql: postgres.Sql; free(): Promise<void> }> {
  const taken: postgres.Sql[] = []
  // The server may still count connections that have just ended.
  for (let refusals = 0; refusals < 3; ) {
    const sql = postgres(own.url(), { max: 1, fetch_types: false, onnotice: () => {} })
    const isTaken = await sql`select 1`.then(
      () => true,
      () => false,
    )
    if (isTaken) taken.push(sql)
    else {
      refusals++
      await sql.end({ timeout: 0 })
      await Bun.sleep(50)
    }
  }
  return {
    sql: taken[0] as postgres.Sql,
    free: async () => {
      await Promise.all(taken.map(sql => sql.end({ timeout: 1 })))
      await until('a connection is free', () => operator(async sql => await sql`select 1`))
    },
  }
}

/** Waits until exactly one statement waits for a lock. */
const untilBlocked = (sql: postgres.ISql) =>
  until('one statement waits', async () => (await sql`select from pg_locks where not granted`).count === 1)
