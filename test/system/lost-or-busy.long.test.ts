// What the service may take for a lost connection, and what it must not, seen from outside.
import { expect, setDefaultTimeout, test } from 'bun:test'
import type { Sql } from 'postgres'
import { FlakyProxy } from '../support/flaky-proxy.ts'
import { postToken } from '../support/http.ts'
import { requires } from '../support/requires.ts'
import { type Served, useServedWorld, whileBlocked } from '../support/served.ts'
import { until } from '../support/until.ts'
import { PGBOUNCER, startPgBouncer } from './support/pgbouncer.ts'

setDefaultTimeout(120_000)
const world = useServedWorld()

/** The processes of the server that wait for a lock on a table. */
const waitingFor = async (sql: Sql, table: string) =>
  (
    await sql<{ pid: number }[]>`select pid from pg_locks where not granted and relation = ${table}::regclass`
  ).map(({ pid }) => pid)

const warnings = (server: Served) => server.log().filter(({ level }) => Number(level) >= 40)

test('with DATABASE_POOL_SIZE=1, a statement whose backend is gone without a word is sent again', async () => {
  const proxy = await FlakyProxy.start(world.env.DATABASE_URL as string)
  const server = await world.serve([], {
    DATABASE_URL: `${proxy.url}?application_name=served`,
    DATABASE_POOL_SIZE: '1',
  })
  let page: Promise<{ status: number }> | undefined
  await whileBlocked(world.sql, async waiting => {
    page = world.list(server)
    await waiting(1)
    const [first] = await waitingFor(world.sql, 'export_records')
    // The service looks once a second at what the server runs, on a connection of its own.
    const looks = new Set<string>()
    await until('the service has looked at its statement', async () => {
      const rows = await world.sql<{ at: string }[]>`
        select o.query_start::text as at from pg_stat_activity o join pg_stat_activity w on w.pid = ${first as number}
        where o.application_name = 'served' and o.pid <> w.pid and o.query_start > w.query_start`
      for (const { at } of rows) looks.add(at)
      return looks.size >= 3
    })
    proxy.setNetwork({ is: 'silent' })
    await world.sql`select pg_terminate_backend(${first as number}, 5000)`
    proxy.setNetwork({ is: 'normal' })
    const again = await until('the statement was sent again', async () => {
      const [second] = await waitingFor(world.sql, 'export_records')
      return second
    })
    expect(again).not.toBe(first)
  })
  expect((await page)?.status).toBe(200)
  await server.end()
  await proxy.stop()
})

requires(PGBOUNCER).test(
  'behind a PgBouncer of two connections, which statements of 2.5 and of 9 seconds use, neither is cut',
  async () => {
    const bouncer = await startPgBouncer(world.env.DATABASE_URL as string, 'transaction', 2)
    const server = await world.serve([], { DATABASE_URL: bouncer.url })
    const start = performance.now()
    const untilSeconds = (seconds: number) => Bun.sleep(start + 1000 * seconds - performance.now())
    let token: Promise<{ status: number }> | undefined
    let page: Promise<{ status: number }> | undefined
    await whileBlocked(world.sql, async waiting => {
      page = world.list(server)
      await waiting(1)
      const [long] = await waitingFor(world.sql, 'export_records')
      await world.sql.begin(async lock => {
        await lock`lock table access_tokens in share mode`
        token = postToken(server.url, world.credentials)
        await waiting(2)
        await untilSeconds(2.5)
      })
      expect((await token)?.status).toBe(200)
      await untilSeconds(9)
      expect(await waitingFor(world.sql, 'export_records')).toEqual([long as number])
    })
    expect((await page)?.status).toBe(200)
    // Both are slow, and nothing else is amiss.
    for (const { msg } of warnings(server)) expect(msg).toBeOneOf(['request', 'slow statement'])
    await server.end()
    await bouncer.stop()
  },
)
