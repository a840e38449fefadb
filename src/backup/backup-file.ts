import { closeSync, openSync, rmSync } from 'node:fs'
import { Failure } from '../errors.ts'
import { isDevice, outputPath, PRIVATE, putInPlace, writeFailure, writeFully } from '../files.ts'

/**
 * The file of a backup: written beside its name, and put there when it is whole. It has personal data and digests of
 * secrets, so nobody but its owner may read it, whatever was there before.
 */
export class BackupFile {
  private readonly output: string
  private readonly draft: string
  private readonly descriptor: number
  private isOpen = true

  /** @throws Failure when there can be no such file */
  constructor(private readonly path: string) {
    if (isDevice(path)) throw new Failure(`cannot write ${path}: it is not a file; - is standard output`)
    this.output = outputPath(path)
    this.draft = `${this.output}.${process.pid}.tmp`
    try {
      // In a container a process that was killed had the same number.
      rmSync(this.draft, { force: true })
      this.descriptor = openSync(this.draft, 'wx', PRIVATE)
    } catch (error) {
      throw writeFailure(error, path)
    }
  }

  /** @throws Failure when the disk does not take it */
  write(bytes: Uint8Array): void {
    // Closed by Ctrl-C; its descriptor may be another file's by now.
    if (!this.isOpen) return
    try {
      writeFully(this.descriptor, bytes)
    } catch (error) {
      throw writeFailure(error, this.path)
    }
  }

  /** Puts it in its place. */
  async keep(): Promise<void> {
    try {
      await putInPlace(this.descriptor, this.draft, this.output)
    } catch (error) {
      throw writeFailure(error, this.path)
    }
    this.close()
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
