import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { openDatabase } from '../../src/postgres/database.ts'
import { useNotes } from '../support/embedded-notes.ts'
import { signal } from '../support/stop-processes.ts'

const notes = useNotes()
const SOURCE = join(import.meta.dir, '../../src/postgres')

/** Another process with a pool of one connection, which begins a read and reads on after `pause` milliseconds. */
const reading = (dir: string, pause: number) =>
  notes.otherProcess(
    dir,
    `const { openDatabase } = await import(${JSON.stringify(join(SOURCE, 'database.ts'))})
     const bounds = { size: 1, waitMs: 20_000, statementMs: 60_000, slowMs: 60_000 }
     const guest = await openDatabase('embedded:' + ${JSON.stringify(dir)}, 1)
     const pool = guest.pool(bounds, { info: () => {}, warn: () => {} })
     let runs = 0
     const rows = await pool.forRequest({ signal: new AbortController().signal }).lease(async lease => {
       runs++
       lease.begin()
       await lease.unsafe('select 1', [], { prepare: false })
       console.log('reads ' + runs)
       if (runs === 1) await Bun.sleep(${pause})
       const [rows] = await Promise.all([
         lease.unsafe('select id from notes', [], { prepare: false }), lease.commit()])
       return rows
     })
     console.log('has read ' + JSON.stringify(rows) + ' in ' + runs)`,
  )

test('a process that is stopped in a transaction does not hold the embedded database, and reads again when it continues', async () => {
  const dir = notes.folder('stopped')
  // This process runs the engine.
  const database = await openDatabase(`embedded:${dir}`, 1)
  try {
    const guest = reading(dir, 100)
    await guest.shows(/^reads 1$/m)
    signal(guest.pid, 'SIGSTOP')
    expect([...(await database.sql`select id from notes`)]).toEqual([{ id: 1 }])
    signal(guest.pid, 'SIGCONT')
    await guest.shows(/^has read \[\{"id":1\}\] in 2$/m)
  } finally {
    await database.close()
  }
})
