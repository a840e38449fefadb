import { afterAll, afterEach, beforeAll } from 'bun:test'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres, { type Sql } from 'postgres'
import { type EmbeddedDatabase, openEmbedded } from '../../src/postgres/embedded/embedded.ts'
import { embeddedTemplate } from './engine.ts'
import { launch } from './executable.ts'
import { until } from './until.ts'

/** Embedded databases for the tests of the engine itself, each with the table notes and the note (1, 'kept'). */
export interface Notes {
  /** Where all of them are. */
  readonly root: string
  /** A new folder with such a database, which nobody has opened. */
  folder(name: string): string
  /** Opens a folder until the test is over. */
  open(dir: string): Promise<EmbeddedDatabase>
  /** One connection, until the test is over. */
  pool(database: EmbeddedDatabase): Sql
  /** Another process that opens `dir` as `database` with a pool `sql`, runs `body` and stays. */
  otherProcess(dir: string, body: string): ReturnType<typeof launch>
}

export function useNotes(): Notes {
  const root = mkdtempSync(join(tmpdir(), 'axport-embedded-'))
  const template = join(root, 'template')
  const toClose: (() => unknown)[] = []
  const notes: Notes = {
    root,
    folder: name => {
      const dir = join(root, name)
      cpSync(template, dir, { recursive: true })
      return dir
    },
    open: async dir => {
      const database = await openEmbedded(dir)
      toClose.push(() => database.close())
      return database
    },
    pool: database => {
      const sql = connectTo(database)
      toClose.push(() => sql.end({ timeout: 0 }))
      return sql
    },
    otherProcess: (dir, body) => {
      const source = join(import.meta.dir, '../../src/postgres/embedded/embedded.ts')
      const code = `
        import postgres from ${JSON.stringify(Bun.resolveSync('postgres', import.meta.dir))}
        import { openEmbedded } from ${JSON.stringify(source)}
        const database = await openEmbedded(${JSON.stringify(dir)})
        const sql = postgres({ path: database.socketPath, user: 'postgres', database: 'postgres', max: 1 })
        ${body}`
      const running = launch([process.execPath, '-e', code], {})
      toClose.push(async () => {
        running.signal('SIGKILL')
        await running.finished
      })
      return running
    },
  }
  beforeAll(async () => {
    cpSync(await embeddedTemplate(), template, { recursive: true })
    const database = await openEmbedded(template)
    const sql = connectTo(database)
    await sql`create table notes (id int primary key, body text)`
    await sql`insert into notes values (1, 'kept')`
    await sql.end()
    await database.close()
  })
  afterEach(async () => {
    for (const close of toClose.splice(0).reverse()) await close()
  })
  afterAll(() => rmSync(root, { recursive: true, force: true }))
  return notes
}

function connectTo({ socketPath }: EmbeddedDatabase): Sql {
  const options = { user: 'postgres', database: 'postgres', max: 1, onnotice: () => {} }
  return postgres({ path: socketPath, ...options })
}

/** A connection that can do what postgres.js would not. */
export function rawConnection({ socketPath }: EmbeddedDatabase) {
  const socket = connect(socketPath)
  let received = ''
  socket.on('data', data => {
    received += data.toString('latin1')
  })
  socket.write(Buffer.from('\0\0\0\x17\0\x03\0\0user\0postgres\0\0', 'latin1'))
  return {
    send: (...messages: [type: string, body: string][]) => {
      for (const [type, body] of messages) {
        const length = String.fromCharCode(body.length + 4)
        socket.write(Buffer.from(`${type}\0\0\0${length}${body}`, 'latin1'))
      }
    },
    /** Waits for a text among the bytes since it last waited. */
    answered: async (text: string) => {
      await until(`the engine answers ${text}`, () => received.includes(text))
      received = ''
    },
    destroy: () => socket.destroy(),
  }
}
