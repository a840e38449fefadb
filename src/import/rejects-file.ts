import { Failure } from '../errors.ts'
import { OutputFile } from '../output-file.ts'
import type { Reject } from './rejects.ts'

/** The file of --rejects, in NDJSON. It holds personal data. An import that fails keeps the file of the previous one. */
export class RejectsFile {
  /** Undefined until it is begun, null when it is over. */
  #file: OutputFile | null | undefined

  /** @param output a path of outputPath() */
  constructor(private readonly output: string) {}

  /** Begins the file: when no other import can write it, and before anything is committed. @throws Failure */
  begin(): void {
    if (this.#file === undefined) this.#file = new OutputFile(this.output)
  }

  write({ reason, text, ...place }: Reject): void {
    this.#file?.write(Buffer.from(`${JSON.stringify({ ...place, reason, text: text ?? null })}\n`))
  }

  /** Puts the file in its place, once; a round without rows has not begun one. @throws Failure if it is not in its place */
  async keep(): Promise<void> {
    this.begin()
    const file = this.#file
    this.#file = null
    try {
      await file?.publish()
    } catch (error) {
      const path = file?.leave()
      const where = path === undefined ? '' : `; the rejects stay in ${path}`
      throw new Failure(`${(error as Error).message}${where}`)
    }
  }

  /** Removes what was written; does nothing after keep(). */
  discard(): void {
    this.#file?.discard()
    this.#file = null
  }
}
