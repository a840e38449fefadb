import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import postgres, { type Sql } from 'postgres'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'

/*
 * What postgres.js does beyond its documentation, and what src/database/connection/wire.ts works around. A test that
 * fails with a new version says which answer in that file is no longer needed.
 */

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.close())

/** A client with one connection, and the packets that it sent after its first statement. */
async function clientWith(work: (sql: Sql, socket: Socket) => Promise<void>): Promise<string[]> {
  const { hostname, port } = new URL(database.url)
  const socket = connect(Number(port), hostname)
  let isTaken = false
  const open = async () => {
    if (isTaken) throw new Error('only one connection')
    isTaken = true
    return socket
  }
  const options = { max: 1, fetch_types: false, onnotice: () => {}, socket: open }
  const sql = postgres(database.url, options as postgres.Options<Record<string, never>>)
  await sql`select 1`.simple()
  const sent: string[] = []
  const write = socket.write.bind(socket) as (data: Buffer) => boolean
  socket.write = ((data: Buffer) => {
    sent.push(data.toString('latin1'))
    return write(data)
  }) as Socket['write']
  try {
    await work(sql, socket)
  } finally {
    await sql.end({ timeout: 1 }).catch(() => {})
  }
  return sent
}

/** Has the client read each answer at once, up to its ReadyForQuery: the network decides into how many packets it is cut. */
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

test('postgres.js sends an unprepared statement with parameters in two packets', async () => {
  const sent = await clientWith(async sql => {
    const [row] = await sql.unsafe('select $1::integer as n', [1], { prepare: false })
    expect(row?.n).toBe(1)
  })
  expect(sent.length).toBe(2)
})

test('postgres.js puts rows after the rows of a statement that has failed', async () => {
  await clientWith(async sql => {
    const failing = sql.unsafe('select 1 / (3 - n) as quotient from generate_series(1, 5) as n')
    await expect(failing).rejects.toThrow('division by zero')
    const rows = await sql.unsafe('select 7 as n')
    expect([rows.length, rows[0], rows.at(-1)?.n]).toEqual([3, undefined, 7])
  })
})

test('postgres.js returns the stream of a COPY after the error that ends it, if both arrive in one packet', async () => {
  await clientWith(async (sql, socket) => {
    joinAnswers(socket)
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
  })
})

test('postgres.js forgets the error with which a server ends a connection while a statement runs', async () => {
  await clientWith(async sql => {
    const [row] = await sql`select pg_backend_pid() as pid`
    const ended = sql`select pg_sleep(60)`.catch(error => error)
    await until('it is terminated', async () => {
      const [found] = await database.sql`
        select pg_terminate_backend(pid) as found from pg_stat_activity
        where pid = ${row?.pid} and wait_event = 'PgSleep'`
      return found?.found
    })
    expect((await ended).code).toBe('CONNECTION_CLOSED')
  })
})

test('postgres.js never settles statements that wait to be sent when the connection ends', async () => {
  await clientWith(async (sql, socket) => {
    // The first use of a prepared statement takes a round trip of its own, for which the next ones wait.
    const sent = [1, 2, 3].map(n => sql.unsafe(`select pg_sleep($1), ${n}`, [60]))
    const states = sent.map(() => 'pending')
    for (const [at, statement] of sent.entries()) void statement.catch(() => (states[at] = 'settled'))
    await Bun.sleep(50)
    socket.destroy()
    await until('the first ones fail', () => states[1] === 'settled')
    await Bun.sleep(100)
    expect(states).toEqual(['settled', 'settled', 'pending'])
  })
})

test('postgres.js throws outside of any promise in a transaction whose connection was cut', async () => {
  const script = `
    import postgres from 'postgres'
    process.on('uncaughtException', error => console.log(error instanceof TypeError))
    const sql = postgres(process.env.URL, { max: 1, fetch_types: false })
    await sql.begin(async sql => {
      const [{ pid }] = await sql\`select pg_backend_pid() as pid\`
      const other = postgres(process.env.URL, { max: 1, fetch_types: false })
      await other\`select pg_terminate_backend(\${pid})\`
      await other.end()
      await Bun.sleep(200)
      await Promise.race([sql\`select 1\`, Bun.sleep(200)])
    }).catch(({ code }) => console.log(code))
    await Bun.sleep(1000)
    process.exit(0)`
  const { stdout } = Bun.spawnSync([process.execPath, '-e', script], {
    cwd: import.meta.dir,
    env: { ...process.env, URL: database.url },
  })
  expect(stdout.toString().trim().split('\n').sort()).toEqual(['CONNECTION_CLOSED', 'true'])
})
