import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress } from 'node:zlib'
import type { Write } from '../files.ts'
import { type Batch, endMark, type Header } from './archive.ts'

/**
 * Writes the lines of a backup, compressed, and the end mark. Reads no faster than `write` takes.
 * @returns the number of bytes
 * @throws the errors of `lines` and `write`
 */
export async function writeArchive(lines: AsyncIterable<Header | Batch>, write: Write): Promise<number> {
  const digest = createHash('sha256')
  let size = 0
  const texts = (async function* () {
    for await (const line of lines) yield Buffer.from(`${JSON.stringify(line)}\n`)
  })()
  // A line may have a megabyte: the stream queues one at most.
  const source = Readable.from(texts, { highWaterMark: 1 })
  await pipeline(source, createZstdCompress(), async (packed: AsyncIterable<Uint8Array>) => {
    for await (const bytes of packed) {
      digest.update(bytes)
      size += bytes.length
      await write(bytes)
    }
  })
  const end = endMark(digest.digest('hex'))
  await write(end)
  return size + end.length
}
