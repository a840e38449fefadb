import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import type { Compression } from './formats.ts'

const NEWLINE = 0x0a
const CHUNK = 1024 * 1024

const DECOMPRESSORS = { gz: createGunzip, zst: createZstdDecompress }

/** The whole lines of a file, many at a time, without an unfinished last one. @throws the error of the system */
export async function* linesOf(path: string, compression?: Compression): AsyncGenerator<Uint8Array> {
  const file = createReadStream(path, { highWaterMark: CHUNK })
  const bytes = compression
    ? pipeline(file, DECOMPRESSORS[compression]({ chunkSize: CHUNK }), () => {})
    : file
  let rest = Buffer.alloc(0)
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    const all = Buffer.concat([rest, chunk])
    const end = all.lastIndexOf(NEWLINE) + 1
    rest = all.subarray(end)
    if (end > 0) yield all.subarray(0, end)
  }
}
