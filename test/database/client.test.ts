import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { createServer, type Server, type Socket } from 'node:net'
import { Client, type Start } from '../../src/database/client.ts'
import { readPostgresUrl } from '../../src/database/url.ts'
import { FlakyProxy } from '../support/flaky-proxy.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'

const PLAIN = { prepare: false }

let database: TestDatabase
let client: Client
beforeAll(async () => {
  database = await openTestDatabase()
})
afterEach(() => client.close())
afterAll(() => database.close())

/** How a client of one connection to the server of a URL starts. */
function startOf(text: string, isEncrypted = false): Start {
  const url = readPostgresUrl(text)
  const [address] = url.addresses as [Start['route']['address']]
  return { url, route: { address, ...(isEncrypted && { encryption: url.encryption }) }, parameters: {} }
}

const clientOf = (start: Start, max = 1) => new Client(start, 5000, { max, fetch_types: false })

const ask = async (text: string): Promise<Record<string, unknown>[]> => [
  ...((await client.send(text, [], PLAIN).rows) as Record<string, unknown>[]),
]

const pid = async () => (await ask('select pg_backend_pid() as pid'))[0]?.pid as number

/** A server on a free port that calls `accept` for each connection. */
async function serverOf(accept: (socket: Socket) => void): Promise<{ url: string; server: Server }> {
  const server = createServer({ allowHalfOpen: true }, accept)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return { url: `postgres://nobody@127.0.0.1:${port}/none`, server }
}

test('a connection that is closed before it is ready fails its statement, and keeps its place in the pool', async () => {
  let accepted = 0
  const { url, server } = await serverOf(socket => {
    accepted++
    socket.once('data', () => socket.end())
  })
  client = clientOf(startOf(url))
  for (let time = 0; time < 3; time++)
    await expect(ask('select 1')).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
  expect(accepted).toBe(3)
  server.close()
})

test('a socket that cannot be opened fails its statement, and keeps its place in the pool', async () => {
  client = clientOf(startOf(`${database.url}?sslmode=require`, true))
  for (let time = 0; time < 3; time++)
    await expect(ask('select 1')).rejects.toMatchObject({ code: 'NOT_ENCRYPTED' })
})

test('a statement whose connection the server ends fails with the last words of the server', async () => {
  client = clientOf(startOf(database.url))
  const process = await pid()
  const ended = ask('select pg_sleep(60)').catch(error => error)
  await until('it is terminated', async () => {
    const { count } = await database.sql`
      select pg_terminate_backend(pid) from pg_stat_activity where pid = ${process} and wait_event = 'PgSleep'`
    return count
  })
  expect(await ended).toMatchObject({ name: 'PostgresError', code: '57P01' })
  await until('another connection is used', async () => (await pid()) !== process)
})

test('a connection whose server does not close its half is closed', async () => {
  const accepted: Socket[] = []
  const { url, server } = await serverOf(socket => accepted.push(socket.on('error', () => {}).resume()))
  client = clientOf(startOf(url))
  ask('select 1').catch(() => {})
  await until('it is connected', () => accepted.length === 1)
  void client.sql.end({ timeout: 0 })
  // The network says so when something is sent to it.
  await until('it is closed', () => {
    accepted[0]?.write('x')
    return accepted[0]?.destroyed
  })
  server.close()
})

test('one connection can be ended alone, and its statement fails with the reason', async () => {
  client = clientOf(startOf(database.url), 2)
  const run = (n: number, seconds: number) => client.send(`select ${n} as n, pg_sleep(${seconds})`, [], PLAIN)
  const [one, other] = [run(1, 60), run(2, 1)]
  await until('both run', () => one.pid() !== undefined && other.pid() !== undefined)
  client.cut(one.pid(), new Error('it is stale'))
  await expect(one.rows).rejects.toThrow('it is stale')
  expect([...((await other.rows) as object[])]).toEqual([{ n: 2, pg_sleep: '' }])
  expect(client.size).toBe(1)
})

test('a connection that ends before its statement is written leaves its place to the next one', async () => {
  client = clientOf(startOf(database.url))
  const process = await pid()
  const unwritten = ask('select 1')
  client.cut(process, new Error('it is cut'))
  await expect(unwritten).rejects.toThrow('CONNECTION_CLOSED')
  expect(await pid()).not.toBe(process)
})

test('in a transaction whose connection was cut, later statements fail, and its place is left to the next one', async () => {
  client = clientOf(startOf(database.url))
  const later = Promise.withResolvers<unknown>()
  const transaction = client.sql.begin(sql => {
    const statements = async () => {
      const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
      await database.sql`select pg_terminate_backend(${row?.pid ?? 0})`
      await until('it has ended', () => client.size === 0)
      await sql`select 1`
    }
    later.resolve(statements())
    return later.promise
  })
  // begin() fails as soon as the connection has ended, while the statements of the transaction go on.
  const [began, ended] = await Promise.allSettled([transaction, later.promise])
  expect(began).toMatchObject({ status: 'rejected', reason: expect.any(Error) })
  expect(ended).toMatchObject({ status: 'rejected', reason: { code: 'CONNECTION_CLOSED' } })
  expect(await pid()).toBePositive()
})

test('a statement takes the connection that was used last, whose backend is warm', async () => {
  client = clientOf(startOf(database.url), 4)
  const opened = await Promise.all(
    Array.from({ length: 4 }, () => ask('select pg_backend_pid() as pid, pg_sleep(0.2)')),
  )
  expect(new Set(opened.map(([row]) => row?.pid)).size).toBe(4)
  const used = new Set<number>()
  for (let time = 0; time < 8; time++) used.add(await pid())
  expect(used.size).toBe(1)
})

test('a client that is sealed opens no further connection', async () => {
  client = clientOf(startOf(database.url))
  const process = await pid()
  client.seal()
  expect(await pid()).toBe(process)
  await database.sql`select pg_terminate_backend(${process})`
  await until('it has ended', () => client.size === 0)
  await expect(ask('select 1')).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
})

test('what cancels a statement waits until the server has accepted that, and fails if it does not', async () => {
  const proxy = await FlakyProxy.start(database.url)
  client = clientOf(startOf(proxy.url))
  const process = await pid()
  const asleep = ask('select pg_sleep(60)').catch(error => error)
  await until('it sleeps', async () => {
    const { count } = await database.sql`
      select from pg_stat_activity where pid = ${process} and wait_event = 'PgSleep'`
    return count
  })
  proxy.setNetwork({ is: 'slow', milliseconds: 100 })
  await client.cancel(process, 5000)
  expect(await asleep).toMatchObject({ code: '57014' })
  proxy.setNetwork({ is: 'silent' })
  await expect(client.cancel(process, 200)).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  await proxy.stop()
})
