import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { Failure } from '../errors.ts'

/** Bytes that are read once, from the first to the last. */
export interface ByteSource {
  /** Its name in errors: "users.csv". */
  name?: string
  /** Compressed or plain bytes, as they are stored. */
  chunks: AsyncIterable<Uint8Array>
  /** The number of bytes in `chunks`; unknown for a stream. */
  size?: number
}

/** Formats that are refused, by their first bytes, each of which is a character. */
const REFUSED: [RegExp, string][] = [
  [/^PK(\x03\x04|\x05\x06)/, 'is a zip: unzip it, and import the folder'],
  [/^\x28\xb5\x2f\xfd/, 'is compressed with zstd: decompress it, or use gzip'],
  [/^\xfd7zX/, 'is compressed with xz: decompress it, or use gzip'],
  [/^BZh\d/, 'is compressed with bzip2: decompress it, or use gzip'],
]

/**
 * Plain bytes, or those of gzip data that is whole to its last byte. `onMembers` is called at the end of data in several
 * members (one gzip file after another): nobody can tell whether one more was cut off.
 */
export async function* inflated(
  name: string,
  chunks: AsyncGenerator<Uint8Array>,
  onMembers: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    const { start, all } = await begun(chunks)
    const text = Buffer.from(start).toString('latin1')
    const [, refusal] = REFUSED.find(([format]) => format.test(text)) ?? []
    if (refusal) throw new Failure(`${name} ${refusal}`)
    // By its first bytes and not by the file's name: standard input has none.
    if (text.startsWith('\x1f\x8b')) yield* gunzipped(name, all, onMembers)
    else yield* all
  } finally {
    // A consumer that stops before `all` is read would leave the file open. Not awaited: a pipe may never answer.
    chunks.return(undefined).catch(() => {})
  }
}

/** The first four bytes or more, unless there are fewer, and all bytes. The caller closes `chunks`: `all` may not have begun. */
export async function begun(chunks: AsyncGenerator<Uint8Array>) {
  let start: Uint8Array = new Uint8Array()
  while (start.length < 4) {
    const next = await chunks.next()
    if (next.done) break
    start = Buffer.concat([start, next.value])
  }
  const all = (async function* () {
    if (start.length > 0) yield start
    yield* chunks
  })()
  return { start, all }
}

async function* gunzipped(name: string, chunks: AsyncIterable<Uint8Array>, onMembers: () => void) {
  let read = 0
  let written = 0
  let end = Buffer.alloc(0)
  const watched = (async function* () {
    for await (const chunk of chunks) {
      read += chunk.length
      end = Buffer.concat([end, chunk.subarray(-4)]).subarray(-4)
      yield chunk
    }
  })()
  const gunzip = createGunzip()
  for await (const chunk of pipeline(Readable.from(watched), gunzip, () => {}) as AsyncIterable<Uint8Array>) {
    written += chunk.length
    yield chunk
  }
  // It stops at a zero byte after a member, whatever follows, without an error.
  if (gunzip.bytesWritten < read)
    throw new Failure(`${name} is damaged: other bytes follow its gzip data: fetch or make the file again`)
  // A member ends with its own size (RFC 1952).
  if (end.readUInt32LE() !== written % 2 ** 32) onMembers()
}
