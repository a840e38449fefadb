import { createReadStream, statSync } from 'node:fs'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { Failure } from '../errors.ts'

/** A line of the file, without its end; `text` is undefined where the line is longer than MAX_LINE. */
export interface Line {
  number: number
  text: string | undefined
}

/** Characters of one line. Far beyond any record; without a limit one missing line break would fill the memory. */
export const MAX_LINE = 1024 * 1024

/** Where an import reads from. */
export interface Source {
  /** Compressed or plain bytes, as they are stored. */
  chunks: AsyncIterable<Uint8Array>
  /** How many bytes `chunks` will yield, where that is known before. */
  size?: number
}

/**
 * Opens FILE, or standard input for "-".
 * @throws Failure when it can not be read
 */
export function openSource(file: string): Source {
  if (file === '-') return { chunks: process.stdin }
  try {
    const stat = statSync(file)
    if (stat.isDirectory())
      throw new Failure(`${file} is a folder: give one NDJSON file, or - for standard input`)
    return {
      chunks: createReadStream(file, { highWaterMark: 256 * 1024 }),
      ...(stat.isFile() && { size: stat.size }),
    }
  } catch (error) {
    if (error instanceof Failure) throw error
    throw new Failure(
      `can not read ${file}: ${(error as { code?: string }).code === 'ENOENT' ? 'there is no such file' : (error as Error).message}`,
    )
  }
}

/**
 * The lines of a plain or gzipped source, in batches as they arrive, blank ones left out but counted.
 * Reads no faster than the caller takes. `onBytes` is told the stored bytes read so far.
 * @throws Failure for text that is not UTF-8 or a damaged gzip
 */
export async function* readLines(source: Source, onBytes: (bytes: number) => void): AsyncGenerator<Line[]> {
  let number = 0
  let rest = ''
  let isTooLong = false
  const finish = (text: string): Line[] => {
    number += 1
    const line = { number, text: isTooLong || text.length > MAX_LINE ? undefined : text }
    isTooLong = false
    return line.text?.trim() === '' ? [] : [line]
  }

  for await (const text of decoded(inflated(source.chunks, onBytes))) {
    const parts = text.split('\n')
    parts[0] = rest + parts[0]
    rest = parts.pop() as string
    yield parts.flatMap(finish)
    if (rest.length > MAX_LINE) {
      isTooLong = true
      rest = ''
    }
  }
  if (rest !== '' || isTooLong) yield finish(rest)
}

/** A byte order mark is dropped by the decoder. */
async function* decoded(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true })
    yield decoder.decode()
  } catch (error) {
    if (error instanceof TypeError) throw new Failure('the file is not UTF-8 text: export it as UTF-8')
    throw error
  }
}

/** Gzip is recognized by its first two bytes, not by the file's name: standard input has none. */
async function* inflated(
  chunks: AsyncIterable<Uint8Array>,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  const source = counted(chunks, onBytes)
  try {
    let head: Uint8Array = new Uint8Array()
    while (head.byteLength < 2) {
      const next = await source.next()
      if (next.done) break
      head = head.byteLength === 0 ? next.value : Buffer.concat([head, next.value])
    }
    const all = prepended(head, source)
    yield* head[0] === 0x1f && head[1] === 0x8b ? gunzipped(all) : all
  } finally {
    // A generator that was not asked for everything does not let go of its source by itself.
    await source.return(undefined)
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

async function* prepended(head: Uint8Array, rest: AsyncIterable<Uint8Array>) {
  yield head
  yield* rest
}

async function* gunzipped(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* pipeline(Readable.from(chunks), createGunzip(), () => {}) as AsyncIterable<Uint8Array>
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    if (!code?.startsWith('Z_')) throw error
    throw new Failure(`the gzip data is damaged or cut short (${message}): fetch or make the file again`)
  }
}
