import { createHash } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { basename } from 'node:path'

/**
 * Compresses a file with zstd, at a level from 1 to 19, without blocking this process.
 * @returns the sizes before and after, in bytes
 */
export async function compress(
  file: string,
  into: string,
  level: number,
): Promise<{ plain: number; packed: number }> {
  const plain = await Bun.file(file).bytes()
  await Bun.write(into, await Bun.zstdCompress(plain, { level }))
  return { plain: plain.length, packed: statSync(into).size }
}

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
