import { isUtf8 } from 'node:buffer'
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

/** Characters of one line or CSV row. Without a limit, one missing line break would fill the memory. */
export const MAX_LINE = 1024 * 1024

/** The text of a plain or gzipped source without a byte order mark. Throws a Failure with the number of a bad line. */
export async function* readText(
  { name = 'the data', chunks }: ByteSource,
  onBytes: (bytes: number) => void,
): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const failure = (line: number, reason: string) => new Failure(`${name} line ${line}: ${reason}`)
  let line = 1
  // A character has four bytes at most: an incomplete one is in the last three.
  let tail: Uint8Array = new Uint8Array()
  const decode = (chunk?: Uint8Array) => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined })
    } catch {
      throw failure(line + badLineOf(tail, chunk), 'the text is not UTF-8: export it as UTF-8')
    }
  }
  try {
    for await (const chunk of inflated(name, counted(chunks, onBytes))) {
      yield decode(chunk)
      line += breaksIn(chunk)
      tail = Buffer.concat([tail, chunk.subarray(-3)]).subarray(-3)
    }
    yield decode()
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (!code.startsWith('Z_')) throw error
    throw failure(line, `the gzip data is damaged or cut short (${message}): fetch or make the file again`)
  }
}

/** The number of line breaks before the first line that is not UTF-8, counted from the end of `tail`. */
function badLineOf(tail: Uint8Array, chunk: Uint8Array = new Uint8Array()): number {
  // The tail may begin in the middle of a character that was decoded.
  const begin = tail.findIndex(byte => (byte & 0xc0) !== 0x80)
  const bytes = Buffer.concat([tail.subarray(begin === -1 ? tail.length : begin), chunk])
  // A line break is never a part of another character.
  const lines = bytes.toString('latin1').split('\n')
  return lines.findIndex(line => !isUtf8(Buffer.from(line, 'latin1'))) - breaksIn(tail)
}

function breaksIn(bytes: Uint8Array): number {
  let breaks = 0
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) breaks += 1
  return breaks
}

async function* counted(chunks: AsyncIterable<Uint8Array>, onBytes: (bytes: number) => void) {
  for await (const chunk of chunks) {
    onBytes(chunk.byteLength)
    yield chunk
  }
}

/** Gzip is recognized by its first bytes, not by the file's name: standard input has none. */
async function* inflated(name: string, chunks: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    let start: Uint8Array = new Uint8Array()
    while (start.length < 4) {
      const next = await chunks.next()
      if (next.done) break
      start = Buffer.concat([start, next.value])
    }
    if (/^PK(\x03\x04|\x05\x06)/.test(Buffer.from(start).toString('latin1', 0, 4)))
      throw new Failure(`${name} is a zip: unzip it, and import the folder`)
    const all = (async function* () {
      if (start.length > 0) yield start
      yield* chunks
    })()
    if (start[0] === 0x1f && start[1] === 0x8b)
      yield* pipeline(Readable.from(all), createGunzip(), () => {}) as AsyncIterable<Uint8Array>
    else yield* all
  } finally {
    // A consumer that stops before `all` is read would leave the file open. Not awaited: a pipe may never answer.
    chunks.return(undefined).catch(() => {})
  }
}
