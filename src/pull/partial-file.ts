import { Database } from 'bun:sqlite'
import { chmodSync, closeSync, constants, existsSync, ftruncateSync, openSync, rmSync } from 'node:fs'
import { Failure } from '../errors.ts'
import { PRIVATE, publish, writeFailure, writeFully } from '../files.ts'
import { type Asked, differenceOf } from './asked.ts'
import type { PullObserver } from './job.ts'
import { linesOf } from './lines.ts'
import { readRecords, UnexpectedJson } from './record.ts'
import { Position } from './walk.ts'

/** An older run is not continued: the data may have changed while its count and its order stayed the same. */
const MAX_AGE_MS = 6 * 3600 * 1000

const NEWLINE = 0x0a

/** By which the next run decides whether it continues this one. */
interface RunState {
  /** Both runs must agree in all of it. Earlier versions of axport have stored something else. */
  asked?: Asked
  /** Milliseconds since 1970. */
  started: number
  /** In the last page. */
  count: number
}

/**
 * The records that a run has read, as NDJSON beside the output, and the state of the run beside that. Both stay for the
 * next run, however this one ends. The state is a SQLite database: SQLite locks it, and the lock ends with the process.
 */
export class PartialFile {
  readonly path: string
  /** Where a walk continues. */
  position = new Position()
  /** Records in the file. */
  records = 0
  private readonly state: Database
  readonly descriptor: number
  /** The state of what this run has in the file; undefined while that is nothing, or what an earlier run left. */
  private saved: RunState | undefined
  private isOpen = true

  /** @throws Failure when the files cannot be written, or another process writes them; earlier files stay */
  constructor(
    private readonly output: string,
    private readonly asked: Asked,
  ) {
    this.path = `${output}.partial`
    const statePath = `${this.path}.state`
    const isNew = !existsSync(statePath)
    this.state = openState(statePath, output, isNew)
    try {
      const { O_RDWR, O_CREAT, O_APPEND, O_NOFOLLOW = 0 } = constants
      this.descriptor = openSync(this.path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, PRIVATE)
    } catch (error) {
      closeState(this.state, !isNew)
      throw writeFailure(error, this.path)
    }
  }

  /**
   * Continues an earlier run that asked for the same; returns how many records it left. What another run left is removed
   * by the first append(), so that a mistyped address or secret costs nothing.
   */
  async resume({ onProgress, onNote }: Pick<PullObserver, 'onProgress' | 'onNote'>): Promise<number> {
    const stored = this.storedState()
    if (stored === undefined) return 0
    const state: RunState = JSON.parse(stored)
    const reason = this.reasonNotToContinue(state)
    if (reason !== undefined) {
      onNote(`what an interrupted run has left ${reason}: everything is read anew`)
      return 0
    }
    this.position.count = state.count
    let length = 0
    onProgress({ phase: 'resuming', done: 0, total: state.count })
    for await (const chunk of linesOf(this.path)) {
      const valid = this.takeIds(chunk)
      length += valid
      // After a crash of the machine, a file may hold anything.
      if (valid < chunk.length) break
      onProgress({ phase: 'resuming', done: this.position.size, total: state.count })
    }
    // Ctrl-C has closed the file in the meantime. All of it stays for the next run.
    if (!this.isOpen) return 0
    ftruncateSync(this.descriptor, length)
    this.saved = state
    this.records = this.position.size
    if (this.records > 0) onNote(`going on after ${this.records} assessments of an interrupted run`)
    return this.records
  }

  private reasonNotToContinue({ asked, started }: RunState): string | undefined {
    if (!asked) return 'is of an earlier version of axport'
    const difference = differenceOf(this.asked, asked)
    if (difference !== undefined) return `is for ${difference}`
    return Date.now() - started > MAX_AGE_MS ? 'is older than six hours' : undefined
  }

  /** Adds the ids of whole lines to the position; returns how many bytes of the lines are records. */
  private takeIds(lines: Uint8Array): number {
    let at = 0
    try {
      for (let end = 0; at < lines.length; at = end) {
        end = lines.indexOf(NEWLINE, at) + 1
        for (const { id } of readRecords(lines.subarray(at, end))) this.position.add(id)
      }
    } catch (error) {
      if (!(error instanceof UnexpectedJson)) throw error
    }
    return at
  }

  private storedState(): string | undefined {
    return this.state.query<{ state: string }, []>('select state from run').get()?.state
  }

  /** Forgets everything that was read; the next append() removes it from the file. */
  clear(): void {
    this.position = new Position()
    this.records = 0
    this.saved = undefined
    if (this.isOpen) this.state.run('delete from run')
  }

  /** Adds the lines up to the present position. Throws Failure when the disk is full or fails. */
  append(lines: Uint8Array): void {
    // After Ctrl-C has closed the file, its descriptor may belong to another one.
    if (!this.isOpen) return
    const { size, count } = this.position
    try {
      if (!this.saved) ftruncateSync(this.descriptor, 0)
      if (count !== this.saved?.count) {
        this.saved = { asked: this.asked, started: this.saved?.started ?? Date.now(), count }
        const text = JSON.stringify(this.saved)
        this.state.run('insert or replace into run (rowid, state) values (1, ?)', [text])
      }
      writeFully(this.descriptor, lines)
      this.records = size
    } catch (error) {
      throw writeFailure(error, this.path)
    }
  }

  /** All of its lines, many at a time, with the progress of what is done with them. */
  async *read(phase: 'comparing' | 'writing', { onProgress }: Pick<PullObserver, 'onProgress'>) {
    let done = 0
    for await (const lines of linesOf(this.path)) {
      yield lines
      for (let at = lines.indexOf(NEWLINE); at >= 0; at = lines.indexOf(NEWLINE, at + 1)) done++
      onProgress({ phase, done, total: this.records })
    }
  }

  /** Makes it the output, or leaves nothing if `draft` is the output in another format. */
  async publish(draft: { descriptor: number; path: string } = this): Promise<void> {
    await publish(draft.descriptor, draft.path, this.output)
    this.close(false)
  }

  /** Ends an unfinished run: what it has read stays for the next one. After the first end, nothing happens. */
  leave(): void {
    if (this.isOpen) this.close(this.records > 0 || (!this.saved && this.storedState() !== undefined))
  }

  private close(isKept: boolean): void {
    if (!this.isOpen) return
    this.isOpen = false
    closeSync(this.descriptor)
    if (!isKept) rmSync(this.path, { force: true })
    closeState(this.state, isKept)
  }
}

function openState(path: string, output: string, isNew: boolean): Database {
  let state: Database | undefined
  try {
    state = new Database(path)
    // Trying filters against the digest would show what was filtered for.
    chmodSync(path, PRIVATE)
    // Keeps the lock of the first transaction.
    state.run('pragma locking_mode = exclusive')
    state.run('begin immediate; create table if not exists run (state text); commit')
    return state
  } catch (error) {
    state?.close()
    const { code } = error as { code?: string }
    if (code === 'SQLITE_BUSY')
      throw new Failure(`another axport pull is writing ${output}: wait for it, or give another --out`)
    if (code === 'SQLITE_NOTADB' || code === 'SQLITE_CORRUPT')
      throw new Failure(`${path} is damaged, or no file of axport pull: remove it`)
    if (isNew) rmSync(path, { force: true })
    throw writeFailure(error, isNew ? output : path)
  }
}

function closeState(state: Database, isKept: boolean): void {
  // Before close(): a process that waits for the lock must not get it on a file that is then removed.
  if (!isKept) rmSync(state.filename, { force: true })
  state.close()
  // Left by a run that was killed.
  if (!isKept) rmSync(`${state.filename}-journal`, { force: true })
}
