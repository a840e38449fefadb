import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import postgres, { type Sql } from 'postgres'
import { type EmbeddedDatabase, openEmbedded } from '../src/postgres/embedded.ts'

// The engine is not fast, and a busy machine is slower.
setDefaultTimeout(60_000)

const root = mkdtempSync(join(tmpdir(), 'axport-embedded-'))
const template = join(root, 'template')
const toClose: { close(): Promise<void> }[] = []

beforeAll(async () => {
  const database = await openEmbedded(template)
  const sql = pool(database)
  await sql`create table notes (id int primary key, body text)`
  await sql`insert into notes values (1, 'kept')`
  await sql.end()
  await database.close()
})

afterEach(async () => {
  for (const each of toClose.splice(0).reverse()) await each.close()
})

afterAll(() => rmSync(root, { recursive: true, force: true }))

/** A folder with a database that has the table notes; making one anew takes three seconds. */
function folder(name: string): string {
  const dir = join(root, name)
  cpSync(template, dir, { recursive: true })
  return dir
}

async function open(dir: string): Promise<EmbeddedDatabase> {
  const database = await openEmbedded(dir)
  toClose.push(database)
  return database
}

function pool({ socketPath }: EmbeddedDatabase): Sql {
  const sql = postgres({
    path: socketPath,
    user: 'postgres',
    database: 'postgres',
    max: 1,
    onnotice: () => {},
  })
  toClose.push({ close: () => sql.end({ timeout: 0 }) })
  return sql
}

/** Another process that opens `dir` as `database` with a pool `sql`, runs `body` and stays. */
function otherProcess(dir: string, body: string) {
  const code = `
    import postgres from 'postgres'
    import { openEmbedded } from ${JSON.stringify(join(import.meta.dir, '../src/postgres/embedded.ts'))}
    const database = await openEmbedded(${JSON.stringify(dir)})
    const sql = postgres({ path: database.socketPath, user: 'postgres', database: 'postgres', max: 1 })
    ${body}`
  const child = Bun.spawn([process.execPath, '-e', code], {
    cwd: join(import.meta.dir, '..'),
    stdout: 'pipe',
    stderr: 'inherit',
  })
  toClose.push({
    async close() {
      child.kill('SIGKILL')
      await child.exited
    },
  })
  return { child, lines: lines(child.stdout) }
}

async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream) {
    rest += decoder.decode(chunk, { stream: true })
    const complete = rest.split('\n')
    rest = complete.pop() ?? ''
    yield* complete
  }
}

async function first(sequence: AsyncGenerator<string>): Promise<string | undefined> {
  return (await sequence.next()).value
}

/** A connection that can do what postgres.js would not; `answered` waits for a text among the new bytes. */
function raw({ socketPath }: EmbeddedDatabase) {
  const socket = connect(socketPath)
  let received = ''
  socket.on('data', data => {
    received += data.toString('latin1')
  })
  socket.write(Buffer.from('\0\0\0\x17\0\x03\0\0user\0postgres\0\0', 'latin1'))
  const answered = async (text: string) => {
    await until(() => received.includes(text))
    received = ''
  }
  return { socket, answered }
}

function send(socket: Socket, ...messages: [type: string, body: string][]): void {
  for (const [type, body] of messages) {
    socket.write(Buffer.from(`${type}\0\0\0${String.fromCharCode(body.length + 4)}${body}`, 'latin1'))
  }
}

/** Waits until `is` answers true. */
async function until(is: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await is())) await Bun.sleep(10)
}

describe('a folder', () => {
  test('keeps its data from one opening to the next, and is closed to other users', async () => {
    const dir = folder('reopened')
    const database = await open(dir)
    expect(database.owner).toBe(true)
    expect(statSync(dir).mode & 0o777).toBe(0o700)
    expect(statSync(join(dir, 'pglite')).mode & 0o777).toBe(0o700)
    expect(statSync(database.socketPath).mode & 0o777).toBe(0o600)
    const sql = pool(database)
    expect([...(await sql`select id, body from notes`)]).toEqual([{ id: 1, body: 'kept' }])
    await sql`insert into notes values (2, 'later')`
    await sql.end()
    await database.close()
    await database.close()
    expect(readdirSync(dir).sort()).toEqual(['axport.lock', 'pglite'])
    // The state in the control file: "shut down", which Postgres enters after everything has been flushed.
    expect(readFileSync(join(dir, 'pglite/global/pg_control')).readUInt32LE(16)).toBe(1)

    const again = pool(await open(dir))
    expect([...(await again`select id from notes order by id`)]).toEqual([{ id: 1 }, { id: 2 }])
  })

  test('that is new is made with its parents, and an interrupted first start is started over', async () => {
    const dir = join(root, 'new/er')
    const unfinished = join(dir, 'pglite.new')
    mkdirSync(unfinished, { recursive: true })
    writeFileSync(join(unfinished, 'PG_VERSION'), '18\n')
    const sql = pool(await open(dir))
    expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }])
    expect(existsSync(unfinished)).toBe(false)
  })

  test('with a path too long for a socket has its socket in the temporary folder', async () => {
    const database = await open(folder('long-'.repeat(30)))
    expect(dirname(dirname(database.socketPath))).toBe(tmpdir())
    const sql = pool(database)
    expect([...(await sql`select id from notes`)]).toEqual([{ id: 1 }])
    await sql.end()
    await database.close()
    rmSync(dirname(database.socketPath), { recursive: true })
  })

  test('that can not be used is refused in one line', async () => {
    const file = join(root, 'file')
    writeFileSync(file, '')
    await expect(openEmbedded(file)).rejects.toThrow(
      `can not use the embedded database ${file}: it is not a folder`,
    )
    await expect(openEmbedded(join(file, 'below'))).rejects.toThrow(/^can not use .*: .*not a directory/i)

    const foreign = join(root, 'foreign')
    mkdirSync(foreign)
    writeFileSync(join(foreign, 'thesis.txt'), '')
    await expect(openEmbedded(foreign)).rejects.toThrow(
      `can not use the embedded database ${foreign}: it holds something else (thesis.txt): name a new or an empty folder`,
    )
    expect(readdirSync(foreign)).toEqual(['thesis.txt'])

    const old = folder('old')
    writeFileSync(join(old, 'pglite/PG_VERSION'), '17\n')
    await expect(openEmbedded(old)).rejects.toThrow('it was made by Postgres 17: use the axport that made it')

    const broken = folder('broken')
    rmSync(join(broken, 'pglite/global/pg_control'))
    await expect(openEmbedded(broken)).rejects.toThrow(/the database engine does not start: .*pg_control/)
  })
})

describe('a second opener', () => {
  test('in the same process is a guest and sees the data', async () => {
    const dir = folder('shared')
    const [owner, guest] = [await open(dir), await open(dir)]
    expect([owner.owner, guest.owner]).toEqual([true, false])
    expect([...(await pool(guest)`select body from notes`)]).toEqual([{ body: 'kept' }])
    await guest.close()
    expect([...(await pool(owner)`select body from notes`)]).toEqual([{ body: 'kept' }])
  })

  test('in another process is a guest, also while the owner is still starting', async () => {
    const dir = folder('started-at-once')
    const body = `
      await sql\`insert into notes values (\${process.pid}, 'from a process')\`
      console.log(database.owner)`
    const starts = [1, 2, 3].map(() => first(otherProcess(dir, body).lines))
    expect((await Promise.all(starts)).sort()).toEqual(['false', 'false', 'true'])
    const guest = await open(dir)
    expect(guest.owner).toBe(false)
    expect([...(await pool(guest)`select count(*)::int from notes`)]).toEqual([{ count: 4 }])
  })

  test('becomes the owner after the owner was killed, with all that was committed', async () => {
    const dir = folder('killed')
    const { child, lines } = otherProcess(
      dir,
      `for (let id = 2; ; id++) {
         await sql\`insert into notes values (\${id}, repeat('x', 5000))\`
         console.log(id)
       }`,
    )
    let committed = 0
    for await (const line of lines) {
      committed = Number(line)
      if (committed === 100) child.kill('SIGKILL')
    }
    expect(existsSync(join(dir, '.s.PGSQL.5432'))).toBe(true)
    const database = await open(dir)
    expect(database.owner).toBe(true)
    const [row] = await pool(database)`select count(*)::int, max(id), max(length(body)) as length from notes`
    expect(row?.max).toBeGreaterThanOrEqual(committed)
    expect(row).toEqual({ count: row?.max, max: row?.max, length: 5000 })
  })
})

describe('connections', () => {
  let database: EmbeddedDatabase
  const dir = join(root, 'connections')

  beforeAll(async () => {
    database = await openEmbedded(folder('connections'))
  })

  afterAll(() => database.close())

  test('at the same time always receive their own rows', async () => {
    await pool(database)`create table counters (client int primary key, value int)`
    const clients = Array.from({ length: 8 }, () => pool(database))
    await Promise.all(clients.map((sql, client) => talk(sql, client)))
    const [sum] = await pool(database)`select count(*)::int, sum(value)::int from counters`
    expect(sum).toEqual({ count: 8, sum: 8 * 30 })
  })

  /** 900 statements of every kind, each answered with something that only this client can expect. */
  async function talk(sql: Sql, client: number): Promise<void> {
    const mine = (round: number) => client * 1_000_000 + round
    await sql`insert into counters values (${client}, 0)`
    for (let round = 0; round < 30; round++) {
      const pipelined = Array.from({ length: 20 }, (_, n) => {
        const parameters = [mine(round), `client ${client}, ${n}`]
        return sql.unsafe<postgres.Row[]>(`select ${client} as c, $1::int as a, $2 as b`, parameters, {
          prepare: client % 2 === 0,
        })
      })
      for (const [n, rows] of (await Promise.all(pipelined)).entries()) {
        expect(rows[0]).toEqual({ c: client, a: mine(round), b: `client ${client}, ${n}` })
      }
      await expect(sql`select 1 / ${0}::int`).rejects.toThrow('division by zero')
      const cursor = sql`select ${client}::int as c from generate_series(1, 5)`.cursor(2)
      for await (const rows of cursor) {
        for (const row of rows) expect(row).toEqual({ c: client })
      }
      await sql.begin(async transaction => {
        const [row] = await transaction`select value from counters where client = ${client} for update`
        expect(row).toEqual({ value: round })
        await transaction`update counters set value = value + 1 where client = ${client}`
      })
      const rolledBack = sql.begin(async transaction => {
        await transaction`update counters set value = -1`
        throw new Error('changed its mind')
      })
      await expect(rolledBack).rejects.toThrow('changed its mind')
      const [simple] = await sql.unsafe(`select ${mine(round)} as d`)
      expect(simple?.d).toBe(mine(round))
    }
  }

  test('get a parameter of 5 MB through, and its answer back', async () => {
    const sql = pool(database)
    const body = JSON.stringify({ text: 'é'.repeat(2_500_000) })
    const [row] = await sql`select ${body}::text as body`
    expect(row?.body === body).toBe(true)
  })

  test('that are cut in a transaction are rolled back, and the others go on', async () => {
    const { child, lines } = otherProcess(
      dir,
      `await sql.begin(async transaction => {
         await transaction\`insert into notes values (2, 'lost')\`
         console.log('inserted')
         await Bun.sleep(60_000)
       })`,
    )
    expect(await first(lines)).toBe('inserted')
    const waiting = pool(database)`select id from notes`.execute()
    await Bun.sleep(50)
    child.kill('SIGKILL')
    expect([...(await waiting)]).toEqual([{ id: 1 }])
  })

  test('that are cut in the middle of a batch are rolled back, and the others go on', async () => {
    const other = pool(database)
    await other`select 1`
    for (const [statement, answer] of [
      [`insert into notes values (2, 'lost')`, 'INSERT'],
      ['select nothing', 'does not exist'],
    ] as const) {
      const { socket, answered } = raw(database)
      // No Sync.
      send(socket, ['P', `\0${statement}\0\0\0`], ['B', '\0\0\0\0\0\0\0\0'], ['E', '\0\0\0\0\0'], ['H', ''])
      await answered(answer)
      const waiting = other`select id from notes`.execute()
      await Bun.sleep(20)
      socket.destroy()
      expect([...(await waiting)]).toEqual([{ id: 1 }])
    }
  })

  test('leave neither prepared statements nor settings behind', async () => {
    const guest = pool(database)
    for (let n = 0; n < 20; n++) await guest.unsafe(`select ${n} + $1::int`, [n], { prepare: true })
    await guest`set search_path = pg_catalog`
    await guest.end()
    const sql = pool(database)
    await until(async () => {
      const [row] = await sql`
        select (select count(*) from pg_prepared_statements)::int, current_setting('search_path') as path`
      // One for this statement, one for what postgres.js asks first.
      return row?.path === 'public' && row.count <= 2
    })
  })

  test('are told that COPY FROM STDIN is not there, and cost the others nothing', async () => {
    const other = pool(database)
    await other`select 1`
    const { socket, answered } = raw(database)
    send(socket, ['Q', 'copy notes from stdin\0'])
    await answered('the embedded database can not COPY FROM STDIN')
    send(
      socket,
      ['P', '\0copy notes from stdin\0\0\0'],
      ['B', '\0\0\0\0\0\0\0\0'],
      ['E', '\0\0\0\0\0'],
      ['S', ''],
    )
    await answered('COPY notes, line 1')
    socket.destroy()
    expect([...(await other`select id from notes`)]).toEqual([{ id: 1 }])
  })

  test('are cut when the engine crashes, and find everything committed in the restarted one', async () => {
    const sql = pool(database)
    await sql`insert into notes values (2, 'committed')`
    const deep = sql.unsafe(
      `begin; insert into notes values (3, 'lost'); select '${'['.repeat(300_000)}'::json`,
    )
    await expect(deep).rejects.toThrow('the embedded database had to be restarted')
    expect([...(await pool(database)`select id from notes order by id`)]).toEqual([{ id: 1 }, { id: 2 }])
    expect([...(await sql`select id from notes order by id`)]).toEqual([{ id: 1 }, { id: 2 }])
  })
})

test('pg_trgm and the ICU rules are there', async () => {
  const sql = pool(await open(folder('extension')))
  await sql`create extension pg_trgm`
  await sql`create index on notes using gin (body gin_trgm_ops)`
  const [row] = await sql`select similarity('abc', 'abd') > 0 as similar, lower('É' collate "und-x-icu")`
  expect(row).toEqual({ similar: true, lower: 'é' })
})
