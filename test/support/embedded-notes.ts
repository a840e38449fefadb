import { afterAll, afterEach, beforeAll } from 'bun:test'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres, { type Sql } from 'postgres'
import { type EmbeddedDatabase, openEmbedded } from '../../src/postgres/embedded/embedded.ts'
import { embeddedTemplate } from './embedded-engine.ts'
import { launch } from './executable.ts'
import { until } from './until.ts'

/** Embedded databases for the tests of the engine itself. Each has a table `notes` with the row (1, 'kept'). */
export interface Notes {
  /** The folder that contains all of these databases. */
  readonly root: string
  /** Makes a folder with such a database, which no process has open. */
  folder(name: string): string
  /** Opens a folder; the database is closed after the test. */
  open(dir: string): Promise<EmbeddedDatabase>
  /** Opens one connection, which is closed after the test. */
  pool(database: EmbeddedDatabase): Sql
  /** Starts another process, which opens `dir` as `database` with a pool `sql`, runs `body`, and does not exit. */
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
      const source = Bun.resolveSync('../../src/postgres/embedded/embedded.ts', import.meta.dir)
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

/** A raw connection, for messages of the protocol that postgres.js does not send. */
export function rawConnection({ socketPath }: Pick<EmbeddedDatabase, 'socketPath'>) {
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
    /** Waits until the bytes received since the last call contain `text`. */
    answered: async (text: string) => {
      await until(`the engine answers ${text}`, () => received.includes(text))
      received = ''
    },
    destroy: () => socket.destroy(),
  }
}
