import { Database } from 'bun:sqlite'
import { chmodSync, existsSync, rmSync } from 'node:fs'
import { Failure } from '../errors.ts'
import { PRIVATE, writeFailure } from '../files.ts'

/** What an unfinished run has to be known by. */
interface RunState {
  /** Of everything that two runs must agree in to be one. Not in the clear: filters may hold names. */
  digest: string
  /** Milliseconds since 1970. */
  started: number
  /** What the service said last. */
  count: number
}

/**
 * The state of a run, in a SQLite database beside the output: because it can be locked, and the lock ends with
 * its process, in whatever way that ends.
 */
export class StateFile {
  private readonly database: Database
  /** Whether an earlier run has left nothing. */
  private readonly isNew: boolean

  /** @throws Failure when another process holds it, or it cannot be written; what an earlier run left stays */
  constructor(
    private readonly path: string,
    output: string,
  ) {
    this.isNew = !existsSync(path)
    let database: Database | undefined
    try {
      database = new Database(path)
      // From the digest somebody could find out by trying what was filtered for.
      chmodSync(path, PRIVATE)
      // The lock that the first transaction takes is kept.
      database.run('pragma locking_mode = exclusive')
      database.run('begin immediate; create table if not exists run (state text); commit')
      this.database = database
    } catch (error) {
      database?.close()
      const { code } = error as { code?: string }
      if (code === 'SQLITE_BUSY')
        throw new Failure(`another axport pull is writing ${output}: wait for it, or give another --out`)
      if (code === 'SQLITE_NOTADB' || code === 'SQLITE_CORRUPT')
        throw new Failure(`${path} is no file of axport pull, or damaged: remove it`)
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

  /** As if this process had never opened it. */
  abandon(): void {
    if (this.isNew) this.remove()
    else this.close()
  }

  remove(): void {
    // Before it is closed: whoever waits for the lock must not get it on a file that goes away.
    rmSync(this.path, { force: true })
    this.close()
    // A killed run leaves one, and it stays with whoever takes the state over.
    rmSync(`${this.path}-journal`, { force: true })
  }
}
