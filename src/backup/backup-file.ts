import { Failure } from '../errors.ts'
import { Draft, isDevice, outputPath, putInPlace, writeFailure } from '../files.ts'

/**
 * The file of a backup: written as a draft beside its path, and moved there when it is whole. It contains personal data
 * and digests of secrets, so only its owner may read it.
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

  /** @throws Failure when the disk refuses the bytes */
  write(bytes: Uint8Array): void {
    try {
      this.draft.write(bytes)
    } catch (error) {
      throw writeFailure(error, this.path)
    }
  }

  /** Moves the draft to the path of the file. */
  async keep(): Promise<void> {
    try {
      await putInPlace(this.draft.descriptor, this.draft.path, this.output)
    } catch (error) {
      throw writeFailure(error, this.path)
    }
    this.draft.close()
  }

  /** Removes the draft; does nothing after keep(). */
  discard(): void {
    this.draft.discard()
  }
}
