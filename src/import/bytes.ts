import { isUtf8 } from 'node:buffer'
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
 * @throws Failure for text that is not UTF-8 or a damaged gzip, with the line where it was noticed
 */
export async function* readText(
  { name = 'the data', chunks }: ByteSource,
  onBytes: (bytes: number) => void,
): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let place = START
  const failure = (line: number, reason: string) => new Failure(`${name} line ${line}: ${reason}`)
  try {
    for await (const chunk of inflated(counted(chunks, onBytes))) {
      yield decode(chunk)
      place = behind(place, chunk)
    }
    yield decode()
  } catch (error) {
    if (error instanceof DamagedGzip) throw failure(place.line, error.message)
    throw error
  }

  function decode(chunk?: Uint8Array): string {
    try {
      return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode()
    } catch {
      throw failure(badLine(place, chunk), 'the text is not UTF-8: export it as UTF-8')
    }
  }
}

/** Where the next chunk begins: the number of its line, and what came of it already: all, or at least its end. */
interface ChunkPlace {
  line: number
  begun: Uint8Array
  isAll: boolean
}

const START: ChunkPlace = { line: 1, begun: new Uint8Array(), isAll: true }

const LINE_BREAK = 0x0a

function behind({ line, begun, isAll }: ChunkPlace, chunk: Uint8Array): ChunkPlace {
  let begin = 0
  for (let end = chunk.indexOf(LINE_BREAK); end !== -1; end = chunk.indexOf(LINE_BREAK, begin)) {
    line += 1
    begin = end + 1
  }
  if (begin > 0) return { line, begun: chunk.subarray(begin), isAll: true }
  // A character has four bytes at most.
  return { line, begun: Buffer.concat([begun.subarray(-3), chunk]), isAll: isAll && begun.length <= 3 }
}

/** The line in which a chunk stops being UTF-8. A break is never a part of another character. */
function badLine({ line, begun, isAll }: ChunkPlace, chunk: Uint8Array = new Uint8Array()): number {
  const bytes = Buffer.concat([begun, chunk])
  let begin = 0
  // The end of a line may begin in the middle of a character.
  while (!isAll && begin < 3 && isContinuation(bytes[begin] ?? 0)) begin += 1
  for (;;) {
    const end = bytes.indexOf(LINE_BREAK, begin)
    if (end === -1 || !isUtf8(bytes.subarray(begin, end))) return line
    line += 1
    begin = end + 1
  }
}

const isContinuation = (byte: number) => (byte & 0xc0) === 0x80

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
    throw new DamagedGzip(
      `the gzip data is damaged or cut short (${(error as Error).message}): fetch or make the file again`,
    )
  }
}

class DamagedGzip extends Error {}
