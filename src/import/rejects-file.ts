import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs'
import { Failure } from '../errors.ts'
import type { Reject } from './import.ts'

/**
 * The file of --rejects: NDJSON, one bad record a line. It holds personal data, so nobody else may read it,
 * and it comes into being as a whole: an import that fails leaves the one of the last time.
 */
export class RejectsFile {
  private readonly draft: string
  private readonly descriptor: number
  private isOpen = true

  /** @throws Failure when there can be no such file, before anything is imported */
  constructor(private readonly path: string) {
    this.draft = `${path}.${process.pid}.tmp`
    try {
      // Renaming the draft would replace a device or a folder's link by a file.
      if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) throw new Error('it is not a file')
      // In a container a process that was killed had the same number.
      rmSync(this.draft, { force: true })
      this.descriptor = openSync(this.draft, 'wx', 0o600)
    } catch (error) {
      throw new Failure(`cannot write the rejects to ${path}: ${(error as Error).message}`)
    }
  }

  /** Adds a record. */
  write({
    file,
    line,
    row,
    reason,
    text = null,
  }: Omit<Reject, 'text'> & { text?: string | null | undefined }): void {
    // Closed when the import was given up; the descriptor may be another file's by now.
    if (!this.isOpen) return
    writeSync(this.descriptor, `${JSON.stringify({ file, line, row, reason, text })}\n`)
  }

  /** Puts the file in its place, once. */
  keep(): void {
    if (!this.isOpen) return
    fsyncSync(this.descriptor)
    this.close()
    try {
      renameSync(this.draft, this.path)
    } catch (error) {
      throw new Failure(`the rejects stay in ${this.draft}: ${(error as Error).message}`)
    }
  }

  /** Leaves nothing behind; nothing happens after keep(). */
  discard(): void {
    if (!this.isOpen) return
    this.close()
    rmSync(this.draft, { force: true })
  }

  private close(): void {
    this.isOpen = false
    closeSync(this.descriptor)
  }
}
