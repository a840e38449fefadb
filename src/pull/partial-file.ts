import { closeSync, constants, createReadStream, ftruncateSync, openSync, rmSync } from 'node:fs'
import { PRIVATE, publish, writeFailure, writeFully } from '../files.ts'
import { readRecords, UnexpectedJson } from './record.ts'
import { type RunState, StateFile } from './state.ts'
import { type Batch, type Position, startOfList } from './walk.ts'

/** An older run is not continued: the data may have changed while its count and its order stayed the same. */
const MAX_AGE_MS = 6 * 3600 * 1000

const NEWLINE = 0x0a

/**
 * The records that a run has read so far, as NDJSON beside the output, and the state of the run beside that. Both stay
 * for the next run, however this one ends. The position is computed from the lines alone.
 */
export class PartialFile {
  readonly path: string
  /** Where a walk continues. */
  position = startOfList()
  /** Records in the file. */
  records = 0
  private readonly state: StateFile
  private readonly descriptor: number
  private saved: RunState | undefined
  private isOpen = true
  /** Whether the file is still as an earlier run left it. */
  private isUntouched = true

  /**
   * @param digest of everything in which two runs must agree for one to continue the other
   * @throws Failure when the file cannot be written, or another process writes it
   */
  constructor(
    private readonly output: string,
    private readonly digest: string,
  ) {
    this.path = `${output}.partial`
    this.state = new StateFile(`${this.path}.state`, output)
    try {
      const { O_RDWR, O_CREAT, O_APPEND, O_NOFOLLOW = 0 } = constants
      this.descriptor = openSync(this.path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, PRIVATE)
    } catch (error) {
      this.state.abandon()
      throw writeFailure(error, this.path)
    }
  }

  /**
   * Continues an earlier run with the same digest; returns how many records it left. What a run with another digest
   * left is removed by the first append(), so that a mistyped address or secret costs nothing.
   * @param onRead called with the number of records read so far, from 0 on
   */
  async resume(onRead: (done: number) => void): Promise<number> {
    const state = this.state.read()
    if (!state) this.clear()
    if (state?.digest !== this.digest || Date.now() - state.started > MAX_AGE_MS) return 0
    this.saved = state
    this.position.count = state.count
    let length = 0
    onRead(0)
    for await (const chunk of this.lines()) {
      const valid = takeIds(chunk, this.position)
      length += valid
      // After a crash of the machine, a file may hold anything.
      if (valid < chunk.length) break
      onRead(this.position.ids.size)
    }
    // Ctrl-C has closed the file in the meantime. All of it stays for the next run.
    if (!this.isOpen) return 0
    ftruncateSync(this.descriptor, length)
    this.isUntouched = false
    this.records = this.position.ids.size
    return this.records
  }

  /** Removes everything that was read. */
  clear(): void {
    this.position = startOfList()
    this.records = 0
    if (this.isOpen) this.truncate()
  }

  private truncate(): void {
    ftruncateSync(this.descriptor, 0)
    this.isUntouched = false
    this.saved = undefined
    this.state.save(undefined)
  }

  /** @throws Failure when the disk is full or fails */
  append({ lines, done, count }: Batch): void {
    // After Ctrl-C has closed the file, its descriptor may belong to another one.
    if (!this.isOpen) return
    try {
      if (this.isUntouched) this.truncate()
      if (count !== this.saved?.count) {
        this.saved = { digest: this.digest, started: this.saved?.started ?? Date.now(), count }
        this.state.save(this.saved)
      }
      writeFully(this.descriptor, lines)
      this.records = done
    } catch (error) {
      throw writeFailure(error, this.path)
    }
  }

  /** Its whole lines, many at a time, without an unfinished last one. */
  async *lines(): AsyncGenerator<Uint8Array> {
    let rest = Buffer.alloc(0)
    for await (const bytes of createReadStream(this.path, { highWaterMark: 1024 * 1024 })) {
      const chunk = Buffer.concat([rest, bytes as Buffer])
      const end = chunk.lastIndexOf(NEWLINE) + 1
      rest = chunk.subarray(end)
      if (end > 0) yield chunk.subarray(0, end)
    }
  }

  /** Makes it the output. */
  async publish(): Promise<void> {
    try {
      await publish(this.descriptor, this.path, this.output)
    } catch (error) {
      throw writeFailure(error, this.output)
    }
    this.remove()
  }

  /** Ends an unfinished run: what it has read stays for the next one. After the first end, nothing happens. */
  leave(): void {
    if (this.records === 0 && !this.isUntouched) this.remove()
    if (!this.isOpen) return
    this.isOpen = false
    closeSync(this.descriptor)
    this.state.close()
  }

  /** Removes both files. */
  remove(): void {
    if (!this.isOpen) return
    this.isOpen = false
    closeSync(this.descriptor)
    rmSync(this.path, { force: true })
    this.state.remove()
  }
}

/** Adds the ids of whole lines to a position; returns how many bytes of the lines are records. */
function takeIds(lines: Uint8Array, position: Position): number {
  for (let at = 0; at < lines.length; ) {
    const end = lines.indexOf(NEWLINE, at) + 1
    try {
      for (const { id } of readRecords(lines.subarray(at, end))) {
        position.lastId = id
        position.ids.add(id)
      }
    } catch (error) {
      if (!(error instanceof UnexpectedJson)) throw error
      return at
    }
    at = end
  }
  return lines.length
}
