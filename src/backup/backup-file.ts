import { Failure } from '../errors.ts'
import { Draft, isDevice, outputPath, putInPlace, writeFailure } from '../files.ts'

/**
 * The file of a backup: written beside its name, and put there when it is whole. It has personal data and digests of
 * secrets, so nobody but its owner may read it, whatever was there before.
 */
export class BackupFile {
  private readonly output: string
  private readonly draft: Draft

  /** @throws Failure when there can be no such file */
  constructor(private readonly path: string) {
    if (isDevice(path)) throw new Failure(`cannot write ${path}: it is not a file; - is standard output`)
    this.output = outputPath(path)
    try {
      this.draft = new Draft(this.output)
    } catch (error) {
      throw writeFailure(error, path)
    }
  }

  /** @throws Failure when the disk does not take it */
  write(bytes: Uint8Array): void {
    try {
      this.draft.write(bytes)
    } catch (error) {
      throw writeFailure(error, this.path)
    }
  }

  /** Puts it in its place. */
  async keep(): Promise<void> {
    try {
      await putInPlace(this.draft.descriptor, this.draft.path, this.output)
    } catch (error) {
      throw writeFailure(error, this.path)
    }
    this.draft.close()
  }

  /** Leaves nothing behind; nothing happens after keep(). */
  discard(): void {
    this.draft.discard()
  }
}
