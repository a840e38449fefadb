import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { sql } from 'drizzle-orm'
import { openDatabase } from '../../src/database/database.ts'
import { StatementTimeout } from '../../src/database/failures.ts'
import { findServer } from '../../src/database/server.ts'
import { statement } from '../../src/database/statement.ts'
import { transact } from '../../src/database/transact.ts'
import { readPostgresUrl } from '../../src/database/url.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'

/** A pooler like PgBouncer: it refuses start-up parameters, and reports an invented process id. */

const bounds = { size: 2, waitMs: 10_000, statementMs: 10_000, slowMs: 10_000 }
const log = { info: () => {}, warn: () => {} }

let database: TestDatabase
let pooler: Server
let url: string
const refused: string[] = []
/** The real process id by the secret that the client knows. */
const processes = new Map<number, number>()

const CANCEL_REQUEST = 80877102
const MADE_UP = 4711

beforeAll(async () => {
  database = await openTestDatabase()
  const server = new URL(database.url)
  pooler = createServer(client => {
    client.once('data', data => {
      const startup = Buffer.from(data)
      if (startup.readInt32BE(4) === CANCEL_REQUEST && startup.readInt32BE(8) === MADE_UP)
        startup.writeInt32BE(processes.get(startup.readInt32BE(12)) ?? 0, 8)
      const parameter = ['jit', 'statement_timeout', 'plan_cache_mode', 'row_security'].find(name =>
        startup.includes(`\0${name}\0`),
      )
      if (parameter === undefined) pass(client, startup, Number(server.port), server.hostname)
      else refuse(client, parameter)
    })
    client.on('error', () => {})
  })
  await new Promise<void>(resolve => pooler.listen(0, '127.0.0.1', resolve))
  const { port } = pooler.address() as { port: number }
  url = database.url.replace(server.host, `127.0.0.1:${port}`)
})
afterAll(async () => {
  pooler?.close()
  await database?.close()
})

function refuse(client: Socket, parameter: string): void {
  refused.push(parameter)
  const fields = Buffer.from(`SFATAL\0C08P01\0Munsupported startup parameter: ${parameter}\0\0`)
  const length = Buffer.alloc(4)
  length.writeInt32BE(fields.length + 4)
  client.end(Buffer.concat([Buffer.from('E'), length, fields]))
}

function pass(client: Socket, startup: Buffer, port: number, host: string): void {
  const upstream = connect(port, host, () => upstream.write(startup))
  upstream.on('data', received => {
    const data = Buffer.from(received)
    const key = data.indexOf(Buffer.from([0x4b, 0, 0, 0, 12]))
    if (key >= 0) {
      processes.set(data.readInt32BE(key + 9), data.readInt32BE(key + 5))
      data.writeInt32BE(MADE_UP, key + 5)
    }
    client.write(data)
  })
  client.on('data', data => upstream.write(data))
  for (const [one, other] of [[client, upstream] as const, [upstream, client] as const])
    one.on('close', () => other.destroy()).on('error', () => {})
}

const read = statement<{ ids: string[]; text: string }, { ids: string[]; text: string }>(
  sql`select ${sql.placeholder('ids')}::bigint[] as ids, ${sql.placeholder('text')}::text as text`,
)

test('commands and requests connect without the parameters that a pooler refuses', async () => {
  const opened = await openDatabase(url, 1)
  const db = opened.pool(bounds, log)
  expect([...(await opened.sql`select 1 as one`)]).toEqual([{ one: 1 }])
  expect(await read(db, { ids: ['1', '2'], text: 'a"b\\c,{}' })).toEqual([
    { ids: ['1', '2'], text: 'a"b\\c,{}' },
  ])
  expect(refused).not.toBeEmpty()
  const interval = () => transact(opened.sql, client => client`show client_connection_check_interval`)
  expect([...(await interval())]).toEqual([{ client_connection_check_interval: '500ms' }])
  await db.close()
  await opened.close()
})

test('commands connect without the parameters whose values a server refuses, as one on Windows does', async () => {
  const optional = { client_connection_check_interval: '-1' }
  const { client } = await findServer(readPostgresUrl(database.url), 10_000, { optional })
  expect(client.size).toBe(1)
  await client.close()
})

test('no statement is prepared if each one may run in another backend', async () => {
  for (const [address, prepared] of [
    [url, 0],
    [database.url, 1],
  ] as const) {
    const opened = await openDatabase(address, 1)
    const db = opened.pool({ ...bounds, size: 1 }, log)
    for (let time = 0; time < 3; time++) await read(db, { ids: [], text: '' })
    const rows = await db.unsafe(
      `select from pg_prepared_statements where statement like '%bigint[] as ids%' and not statement like '%pg_prepared%'`,
      [],
      { prepare: false },
    )
    expect([address === url, (rows as unknown[]).length]).toEqual([address === url, prepared])
    const { sql: commands } = opened
    for (let time = 0; time < 3; time++) await commands`select ${time}::integer as of_a_command`
    const ofCommands = await commands`
      select from pg_prepared_statements where statement like '%as of_a_command' and not statement like '%pg_prepared%'`
    expect([address === url, ofCommands.length]).toEqual([address === url, prepared])
    await db.close()
    await opened.close()
  }
})

test('a statement is cancelled after its timeout if the pooler did not pass statement_timeout on', async () => {
  const opened = await openDatabase(url, 1)
  const db = opened.pool({ ...bounds, size: 1, statementMs: 200 }, log)
  const late = db.unsafe('select pg_sleep(60)', [], { prepare: false })
  await expect(late).rejects.toThrow(StatementTimeout)
  await until('no statement sleeps', async () => {
    const { count } =
      await database.sql`select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`
    return count === 0
  })
  expect([...((await db.unsafe('select 7 as n', [], { prepare: false })) as object[])]).toEqual([{ n: 7 }])
  await db.close()
  await opened.close()
})
