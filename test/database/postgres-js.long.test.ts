import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect, createServer, type Server, type Socket } from 'node:net'
import postgres from 'postgres'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'

/*
 * What postgres.js does beyond its documentation, and what src/database/client.ts answers. A test that fails with a new
 * version says which answer in that file is no longer needed.
 */

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.close())

type Options = postgres.Options<Record<string, never>> & { max_pipeline?: number; socket?: () => unknown }

/** A client with one connection. */
const clientOf = (options: Options = {}) =>
  postgres(database.url, { max: 1, fetch_types: false, onnotice: () => {}, ...options })

/** Opens a socket to the server. */
const open = (): Socket => {
  const { hostname, port } = new URL(database.url)
  return connect(Number(port), hostname).on('error', () => {})
}

/** Whether a statement has settled a while later. */
async function isSettled(statement: Promise<unknown>): Promise<boolean> {
  let settled = false
  const settle = () => {
    settled = true
  }
  statement.then(settle, settle)
  await Bun.sleep(300)
  return settled
}

/** A server that calls `accept` for each connection. */
async function serverOf(accept: (socket: Socket) => void): Promise<{ url: string; server: Server }> {
  const server = createServer({ allowHalfOpen: true }, accept)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return { url: `postgres://nobody@127.0.0.1:${port}/none`, server }
}

/** What a program prints, without its errors. */
function printed(script: string): string[] {
  const { stdout } = Bun.spawnSync([process.execPath, '-e', script], {
    cwd: import.meta.dir,
    env: { ...process.env, URL: database.url },
  })
  return stdout.toString().trim().split('\n').sort()
}

test('postgres.js connects again without a pause, and never settles the statement, if a first connection is closed', async () => {
  let accepted = 0
  const { url, server } = await serverOf(socket => {
    accepted++
    socket.end()
  })
  const sql = postgres(url, { max: 1, fetch_types: false })
  expect(await isSettled(sql`select 1`)).toBe(false)
  // With its shortest pause it would be one.
  expect(accepted).toBeGreaterThan(5)
  server.close()
  // Now it is refused.
  await sql.end({ timeout: 0 })
})

test('postgres.js fails the next statement, and not the one that runs, with the error by which a server ends a connection', async () => {
  const sql = clientOf()
  const [row] = await sql`select pg_backend_pid() as pid`
  const ended = sql`select pg_sleep(60)`.catch(error => error)
  await until('it is terminated', async () => {
    const [found] = await database.sql`
      select pg_terminate_backend(pid) as found from pg_stat_activity
      where pid = ${row?.pid} and wait_event = 'PgSleep'`
    return found?.found
  })
  expect((await ended).code).toBe('CONNECTION_CLOSED')
  // And it fails the next statement with it.
  expect(await sql`select 1`.catch(({ code }) => code)).toBe('57P01')
  await sql.end({ timeout: 0 })
})

test('postgres.js loses a place of its pool when it gets no socket', async () => {
  let isRefused = true
  const socket = () => {
    if (isRefused) throw new Error('no socket')
    return open()
  }
  const sql = clientOf({ socket })
  await expect(Promise.resolve(sql`select 1`)).rejects.toThrow('no socket')
  isRefused = false
  expect(await isSettled(sql`select 1`)).toBe(false)
  await sql.end({ timeout: 0 })
})

test('postgres.js closes its half of a connection alone', async () => {
  const sockets = new Set<Socket>()
  const { url, server } = await serverOf(socket => {
    sockets.add(socket.on('error', () => {}).resume())
  })
  let client: Socket | undefined
  const socket = () => (client = connect(Number(new URL(url).port), '127.0.0.1'))
  const sql = postgres(url, { max: 1, socket } as Options)
  sql`select 1`.catch(() => {})
  await until('it is connected', () => sockets.size === 1)
  await sql.end({ timeout: 0 })
  await Bun.sleep(300)
  expect([client?.writableEnded, client?.destroyed]).toEqual([true, false])
  client?.destroy()
  server.close()
})

test('postgres.js loses a place of its pool when a statement is cancelled before it was sent', async () => {
  const sql = clientOf()
  const early = sql.unsafe('select 1')
  early.catch(() => {})
  await Promise.resolve().then(() => Promise.resolve())
  early.cancel()
  expect(await isSettled(sql`select 1`)).toBe(false)
  await sql.end({ timeout: 0 })
})

test('postgres.js tells nobody of an error of its cancel request', () => {
  const script = `
    import { connect } from 'node:net'
    import postgres from 'postgres'
    process.on('unhandledRejection', () => console.log('unhandled'))
    const { hostname, port } = new URL(process.env.URL)
    let opened = 0
    const socket = () => {
      if (opened++ > 0) throw new Error('no socket')
      return connect(Number(port), hostname)
    }
    const sql = postgres(process.env.URL, { max: 1, fetch_types: false, socket })
    await sql\`select 1\`
    const asleep = sql\`select pg_sleep(60)\`
    asleep.catch(() => {})
    await Bun.sleep(200)
    asleep.cancel()
    await Bun.sleep(200)
    process.exit(0)`
  expect(printed(script)).toEqual(['unhandled'])
})

test('postgres.js tells which process runs a statement by a private property, from when it is sent', async () => {
  const sql = clientOf()
  const [row] = await sql`select pg_backend_pid() as pid`
  const query = sql`select pg_sleep(0.2)`
  query.catch(() => {})
  const { state } = query as unknown as { state: { pid: number } | null }
  expect(state).toBeNull()
  await Bun.sleep(100)
  expect((query as unknown as { state: { pid: number } | null }).state?.pid).toBe(row?.pid)
  await query
  await sql.end()
})

test('postgres.js sends an unprepared statement with parameters in two packets', async () => {
  const sent: Buffer[] = []
  const socket = () => {
    const opened = open()
    const write = opened.write.bind(opened) as (data: Buffer) => boolean
    opened.write = ((data: Buffer) => sent.push(data) > 0 && write(data)) as Socket['write']
    return opened
  }
  const sql = clientOf({ socket })
  await sql`select 1`.simple()
  sent.length = 0
  await sql.unsafe('select $1::integer as n', [1], { prepare: false })
  expect(sent.length).toBe(2)
  await sql.end()
})

test('postgres.js puts rows after the rows of a statement that has failed', async () => {
  const sql = clientOf()
  const failing = sql.unsafe('select 1 / (3 - n) as quotient from generate_series(1, 5) as n')
  await expect(Promise.resolve(failing)).rejects.toThrow('division by zero')
  const rows = await sql.unsafe('select 7 as n')
  expect([rows.length, rows[0], rows.at(-1)?.n]).toEqual([3, undefined, 7])
  await sql.end()
})

/** Has a client read each answer at once, up to its ReadyForQuery: the network decides into how many packets it is cut. */
function joinAnswers(socket: Socket): void {
  const emit = socket.emit.bind(socket) as (event: string, ...given: unknown[]) => boolean
  let held: Buffer[] = []
  socket.emit = ((event: string, ...given: unknown[]) => {
    if (event !== 'data') return emit(event, ...given)
    const received = Buffer.concat([...held, given[0] as Buffer])
    const isWhole = String.fromCharCode(received.at(-6) ?? 0) === 'Z'
    held = isWhole ? [] : [received]
    return isWhole ? emit('data', received) : true
  }) as Socket['emit']
}

test('postgres.js returns the stream of a COPY after the error that ends it, if both arrive in one packet', async () => {
  let socket: Socket | undefined
  const sql = clientOf({ socket: () => (socket = open()) })
  await sql`select 1`
  joinAnswers(socket as unknown as Socket)
  const query = sql.unsafe('copy (select 1 / (n - n) from generate_series(1, 1) as n) to stdout')
  let hasReturned = false
  const internal = query as unknown as { resolve(stream: NodeJS.ReadableStream): void }
  const { resolve } = internal
  const failed = new Promise<boolean>(found => {
    internal.resolve = stream => {
      stream.on('error', () => found(hasReturned))
      resolve(stream)
    }
  })
  void query.readable().then(() => (hasReturned = true))
  expect(await failed).toBe(false)
  await sql.end({ timeout: 0 })
})

test('postgres.js waits longer and longer before it connects again', async () => {
  const sql = postgres('postgres://nobody@127.0.0.1:1/none', { max: 1, fetch_types: false })
  let longest = 0
  for (let time = 0; time < 6; time++) {
    const startedAt = performance.now()
    await sql`select 1`.catch(() => {})
    longest = Math.max(longest, performance.now() - startedAt)
  }
  expect(longest).toBeGreaterThan(350)
  await sql.end({ timeout: 0 })
})

test('postgres.js begins no transaction with max_pipeline: 0', async () => {
  const sql = clientOf({ max: 2, max_pipeline: 0 })
  const begun = await sql.begin(sql => sql`select 1`).catch(error => error.code ?? error.name)
  expect(['UNSAFE_TRANSACTION', 'TypeError']).toContain(begun)
  await sql.end({ timeout: 0 })
})
