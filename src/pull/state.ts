import { Database } from 'bun:sqlite'
import { chmodSync, existsSync, rmSync } from 'node:fs'
import { Failure } from '../errors.ts'
import { PRIVATE, writeFailure } from '../files.ts'

/** By which the next run decides whether it continues this one. */
export interface RunState {
  /** Of everything in which both runs must agree. Filters may hold names, so they are not stored. */
  digest: string
  /** Milliseconds since 1970. */
  started: number
  /** In the last page. */
  count: number
}

/** The state of a run, in a SQLite database: SQLite locks it, and the lock ends with the process. */
export class StateFile {
  private readonly database: Database
  /** Whether no earlier run has left the file. */
  private readonly isNew: boolean

  /** @throws Failure when another process has the lock, or the file cannot be written; an earlier file stays */
  constructor(
    private readonly path: string,
    output: string,
  ) {
    this.isNew = !existsSync(path)
    let database: Database | undefined
    try {
      database = new Database(path)
      // Trying filters against the digest would show what was filtered for.
      chmodSync(path, PRIVATE)
      // Keeps the lock of the first transaction.
      database.run('pragma locking_mode = exclusive')
      database.run('begin immediate; create table if not exists run (state text); commit')
      this.database = database
    } catch (error) {
      database?.close()
      const { code } = error as { code?: string }
      if (code === 'SQLITE_BUSY')
        throw new Failure(`another axport pull is writing ${output}: wait for it, or give another --out`)
      if (code === 'SQLITE_NOTADB' || code === 'SQLITE_CORRUPT')
        throw new Failure(`${path} is damaged, or no file of axport pull: remove it`)
      if (this.isNew) rmSync(path, { force: true })
      throw writeFailure(error, this.isNew ? output : path)
    }
  }

  read(): RunState | undefined {
    const row = this.database.query<{ state: string }, []>('select state from run').get()
    return row ? (JSON.parse(row.state) as RunState) : undefined
  }

  save(state: RunState | undefined): void {
    this.database.transaction(() => {
      this.database.run('delete from run')
      if (state) this.database.run('insert into run values (?)', [JSON.stringify(state)])
    })()
  }

  close(): void {
    this.database.close()
  }

  /** Leaves the file as the constructor found it. */
  abandon(): void {
    if (this.isNew) this.remove()
    else this.close()
  }

  remove(): void {
    // Before close(): a process that waits for the lock must not get it on a file that is then removed.
    rmSync(this.path, { force: true })
    this.close()
    // Left by a run that was killed.
    rmSync(`${this.path}-journal`, { force: true })
  }
}
