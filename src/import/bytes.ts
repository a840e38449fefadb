import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { Failure } from '../errors.ts'

/** Bytes that are read once, from the first to the last. */
export interface ByteSource {
  /** What to call them in words: "users.csv". */
  name?: string
  /** Compressed or plain bytes, as they are stored. */
  chunks: AsyncIterable<Uint8Array>
  /** How many bytes `chunks` will yield, where that is known before. */
  size?: number
}

/**
 * The text of a plain or gzipped source. Reads no faster than the caller takes. `onBytes` is told the stored
 * bytes read so far. A byte order mark is dropped by the decoder.
 * @throws Failure for text that is not UTF-8 or a damaged gzip
 */
export async function* readText(
  { chunks }: ByteSource,
  onBytes: (bytes: number) => void,
): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    for await (const chunk of inflated(counted(chunks, onBytes)))
      yield decoder.decode(chunk, { stream: true })
    yield decoder.decode()
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
      throw new Failure('the file is not UTF-8 text: export it as UTF-8')
    throw error
  }
}

async function* counted(chunks: AsyncIterable<Uint8Array>, onBytes: (bytes: number) => void) {
  let bytes = 0
  for await (const chunk of chunks) {
    bytes += chunk.byteLength
    onBytes(bytes)
    yield chunk
  }
}

/** Gzip is recognized by its first bytes, not by the file's name: standard input has none. */
async function* inflated(chunks: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    const start = await firstBytes(chunks)
    const all = (async function* () {
      if (start.length > 0) yield start
      yield* chunks
    })()
    if (start[0] === 0x1f && start[1] === 0x8b) yield* gunzipped(all)
    else if (start[0] === 0x50 && start[1] === 0x4b && start[2] === 3 && start[3] === 4)
      throw new Failure('a zip cannot be read from a pipe: give the name of its file')
    else yield* all
  } finally {
    // A reader that has had enough before `all` has come to them would leave the file open. Not waited for: a
    // pipe may never yield what it was last asked for.
    chunks.return(undefined).catch(() => {})
  }
}

/** At least four bytes, unless there are no more. */
async function firstBytes(chunks: AsyncGenerator<Uint8Array>): Promise<Uint8Array> {
  let start: Uint8Array = new Uint8Array()
  while (start.length < 4) {
    const next = await chunks.next()
    if (next.done) break
    start = start.length === 0 ? next.value : Buffer.concat([start, next.value])
  }
  return start
}

async function* gunzipped(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let sourceError: unknown
  const watched = (async function* () {
    try {
      yield* chunks
    } catch (error) {
      sourceError = error
      throw error
    }
  })()
  try {
    yield* pipeline(Readable.from(watched), createGunzip(), () => {}) as AsyncIterable<Uint8Array>
  } catch (error) {
    if (sourceError) throw sourceError
    throw new Failure(
      `the gzip data is damaged or cut short (${(error as Error).message}): fetch or make the file again`,
    )
  }
}
