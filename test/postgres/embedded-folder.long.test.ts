import { describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { openEmbedded } from '../../src/postgres/embedded/embedded.ts'
import { useNotes } from '../support/embedded-notes.ts'

const notes = useNotes()

describe('the folder of an embedded database', () => {
  test('keeps its data between openings, and is not accessible to other users', async () => {
    const dir = notes.folder('reopened')
    const database = await notes.open(dir)
    expect(database.owner).toBe(true)
    expect(statSync(dir).mode & 0o777).toBe(0o700)
    expect(statSync(join(dir, 'pglite')).mode & 0o777).toBe(0o700)
    expect(statSync(database.socketPath).mode & 0o777).toBe(0o600)
    const sql = notes.pool(database)
    expect([...(await sql`select id, body from notes`)]).toEqual([{ id: 1, body: 'kept' }])
    await sql`insert into notes values (2, 'later')`
    await sql.end()
    await database.close()
    await database.close()
    expect(readdirSync(dir).sort()).toEqual(['axport.lock', 'pglite'])
    // The control file's state is "shut down", which Postgres writes after all data were flushed.
    expect(readFileSync(join(dir, 'pglite/global/pg_control')).readUInt32LE(16)).toBe(1)

    const again = notes.pool(await notes.open(dir))
    expect([...(await again`select id from notes order by id`)]).toEqual([{ id: 1 }, { id: 2 }])
  })

  test('is created with its parents if missing, and an interrupted first start is repeated', async () => {
    const dir = join(notes.root, 'new/er')
    const unfinished = join(dir, 'pglite.new')
    mkdirSync(unfinished, { recursive: true })
    writeFileSync(join(unfinished, 'PG_VERSION'), '18\n')
    const sql = notes.pool(await notes.open(dir))
    expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }])
    expect(existsSync(unfinished)).toBe(false)
  })

  test('is opened if it has the empty lock file of a killed engine; with a path too long for a socket, its socket is in the temporary folder', async () => {
    const dir = notes.folder('long-'.repeat(30))
    writeFileSync(join(dir, 'pglite/postmaster.pid'), '')
    const database = await notes.open(dir)
    expect(dirname(dirname(database.socketPath))).toBe(tmpdir())
    const sql = notes.pool(database)
    expect([...(await sql`select id from notes`)]).toEqual([{ id: 1 }])
    await sql.end()
    await database.close()
    rmSync(dirname(database.socketPath), { recursive: true })
  })

  test('is refused in one line if it cannot be used', async () => {
    const file = join(notes.root, 'file')
    writeFileSync(file, '')
    await expect(openEmbedded(join(file, 'below'))).rejects.toThrow(/^cannot use .*: .*not a directory/i)

    const old = notes.folder('old')
    writeFileSync(join(old, 'pglite/PG_VERSION'), '17\n')
    await expect(openEmbedded(old)).rejects.toThrow('it was made by Postgres 17: use the axport that made it')

    const broken = notes.folder('broken')
    rmSync(join(broken, 'pglite/global/pg_control'))
    await expect(openEmbedded(broken)).rejects.toThrow(/the database engine does not start: .*pg_control/)
  })
})

describe('a second process that opens an embedded database', () => {
  test('connects to the socket of the first process, also while that one starts', async () => {
    const dir = notes.folder('started-at-once')
    const body = `
      await sql\`insert into notes values (\${process.pid}, 'from a process')\`
      console.log(database.owner)`
    const starts = [1, 2, 3].map(() => notes.otherProcess(dir, body).shows(/^(true|false)$/m))
    expect((await Promise.all(starts)).map(([owner]) => owner).sort()).toEqual(['false', 'false', 'true'])
    const guest = await notes.open(dir)
    expect(guest.owner).toBe(false)
    expect([...(await notes.pool(guest)`select count(*)::int from notes`)]).toEqual([{ count: 4 }])
  })

  test('runs the engine after the first process was killed, with all committed data', async () => {
    const dir = notes.folder('killed')
    const owner = notes.otherProcess(
      dir,
      `for (let id = 2; ; id++) {
         await sql\`insert into notes values (\${id}, repeat('x', 5000))\`
         console.log(id)
       }`,
    )
    await owner.shows(/^40$/m)
    owner.signal('SIGKILL')
    const committed = Number((await owner.finished).stdout.trimEnd().split('\n').at(-1))
    expect(existsSync(join(dir, '.s.PGSQL.5432'))).toBe(true)
    const database = await notes.open(dir)
    expect(database.owner).toBe(true)
    const [row] = await notes.pool(
      database,
    )`select count(*)::int, max(id), max(length(body)) as length from notes`
    expect(row?.max).toBeGreaterThanOrEqual(committed)
    expect(row).toEqual({ count: row?.max, max: row?.max, length: 5000 })
  })
})
