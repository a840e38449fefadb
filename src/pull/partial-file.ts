import { closeSync, constants, ftruncateSync, openSync, rmSync } from 'node:fs'
import { PRIVATE, publish, writeFailure, writeFully } from '../files.ts'
import { UnexpectedJson } from './json.ts'
import { wholeLines } from './lines.ts'
import { readRecords } from './record.ts'
import { StateFile } from './state.ts'
import { type Batch, type Position, startOfList } from './walk.ts'

/** An import of another night may have come since, whatever count and order look like. */
const OLDEST_MS = 6 * 3600 * 1000

const NEWLINE = 0x0a

/**
 * What a run has read so far: NDJSON beside the output, and the state of the run. However a run ends, both are
 * there for the next one. How far it came is told by the lines alone, so nothing has to be kept in step.
 */
export class PartialFile {
  readonly path: string
  /** Where a walk goes on. */
  position = startOfList()
  /** How many records it has. */
  records = 0
  private readonly state: StateFile
  private readonly descriptor: number
  private started = Date.now()
  private savedCount: number | undefined
  private isOpen = true
  /** What an earlier run left is there still, and not taken over. */
  private isUntouched = true

  /**
   * @param output the file that it is for
   * @param digest of everything that two runs must agree in to be one
   * @throws Failure when it cannot be written, or another process writes it
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
   * Takes over what an earlier run that asked for the same has left; returns how many records. What another one has
   * left goes when the first page is there: an address or a secret may be mistyped.
   * @param onRead told how many have been read so far, from 0 on, where there is something to take over
   */
  async resume(onRead: (done: number) => void): Promise<number> {
    const state = this.state.read()
    if (!state) this.clear()
    if (state?.digest !== this.digest || Date.now() - state.started > OLDEST_MS) return 0
    this.started = state.started
    this.savedCount = state.count
    this.position.count = state.count
    let length = 0
    onRead(0)
    for await (const chunk of wholeLines(this.path)) {
      const good = takeIds(chunk, this.position)
      length += good
      // A crash of the machine may have left anything.
      if (good < chunk.length) break
      onRead(this.position.ids.size)
    }
    // Left by Ctrl-C meanwhile: all of it is the next run's.
    if (!this.isOpen) return 0
    ftruncateSync(this.descriptor, length)
    this.isUntouched = false
    this.records = this.position.ids.size
    return this.records
  }

  /** Begins anew. */
  clear(): void {
    this.empty()
    this.position = startOfList()
    this.records = 0
  }

  private empty(): void {
    if (!this.isOpen) return
    ftruncateSync(this.descriptor, 0)
    this.isUntouched = false
    this.started = Date.now()
    this.savedCount = undefined
    this.state.save(undefined)
  }

  /** @throws Failure when the disk does not take it */
  append({ lines, written, count }: Batch): void {
    // Closed by Ctrl-C; its descriptor may be another file's by now.
    if (!this.isOpen) return
    try {
      if (this.isUntouched) this.empty()
      if (count !== this.savedCount) {
        this.savedCount = count
        this.state.save({ digest: this.digest, started: this.started, count })
      }
      writeFully(this.descriptor, lines)
      this.records = written
    } catch (error) {
      throw writeFailure(error, this.path)
    }
  }

  /** Its lines, for another format. */
  lines(): AsyncGenerator<Uint8Array> {
    return wholeLines(this.path)
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

  /** The end of a run that was not finished. Nothing happens after the first end of any kind. */
  leave(): void {
    if (this.records === 0 && !this.isUntouched) this.remove()
    if (!this.isOpen) return
    this.isOpen = false
    closeSync(this.descriptor)
    this.state.close()
  }

  /** Leaves nothing behind. */
  remove(): void {
    if (!this.isOpen) return
    this.isOpen = false
    closeSync(this.descriptor)
    rmSync(this.path, { force: true })
    this.state.remove()
  }
}

/** Adds the ids of whole lines to a position; returns how many bytes of them are records. */
function takeIds(lines: Uint8Array, position: Position): number {
  for (let at = 0; at < lines.length; ) {
    const end = lines.indexOf(NEWLINE, at)
    try {
      const [record] = readRecords(lines.subarray(at, end + 1))
      if (!record) return at
      position.lastId = BigInt(record.id)
    } catch (error) {
      if (!(error instanceof UnexpectedJson)) throw error
      return at
    }
    position.ids.add(position.lastId)
    at = end + 1
  }
  return lines.length
}
