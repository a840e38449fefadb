import { fsyncSync, renameSync, statSync } from 'node:fs'
import { Failure } from '../errors.ts'
import { Draft } from '../files.ts'
import type { Reject } from './rejects.ts'

/**
 * The file of --rejects: NDJSON, one bad record a line. It holds personal data, so only its owner may read it. It is
 * written as a draft: an import that fails keeps the file of the previous one.
 */
export class RejectsFile {
  private readonly draft: Draft

  /** @throws Failure when there can be no such file, before anything is imported */
  constructor(private readonly path: string) {
    try {
      // Renaming the draft would replace a device or a folder's link by a file.
      if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) throw new Error('it is not a file')
      this.draft = new Draft(path)
    } catch (error) {
      throw new Failure(`cannot write the rejects to ${path}: ${(error as Error).message}`)
    }
  }

  /** Adds a record. */
  write({ file, line, row, reason, text }: Reject): void {
    this.draft.write(Buffer.from(`${JSON.stringify({ file, line, row, reason, text: text ?? null })}\n`))
  }

  /** Puts the file in its place, once. */
  keep(): void {
    if (!this.draft.isOpen) return
    fsyncSync(this.draft.descriptor)
    this.draft.close()
    try {
      renameSync(this.draft.path, this.path)
    } catch (error) {
      throw new Failure(`the rejects stay in ${this.draft.path}: ${(error as Error).message}`)
    }
  }

  /** Removes the draft; does nothing after keep(). */
  discard(): void {
    this.draft.discard()
  }
}
