import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { basename } from 'node:path'

/** Lines in the format of `sha256sum --check`: digests and file names without folders, in the order of the names. */
export async function sha256Sums(files: string[]): Promise<string> {
  const lines: string[] = []
  for (const file of files.toSorted()) {
    const hash = createHash('sha256')
    for await (const chunk of createReadStream(file)) hash.update(chunk)
    lines.push(`${hash.digest('hex')}  ${basename(file)}\n`)
  }
  return lines.join('')
}
