import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { createZstdDecompress } from 'node:zlib'
import { Failure } from '../errors.ts'
import { MIGRATIONS } from '../postgres/schema/migrations.ts'
import { type Batch, damaged, endMark, FORMAT, type Header, MAGIC } from './archive.ts'

/**
 * The first line of a backup that is whole and that this program can restore. Reads the file to its end mark, before
 * anything is written.
 * @throws Failure for a file that cannot be read, is not a backup, is damaged or cut short, or is from a newer axport
 */
export async function checkArchive(path: string): Promise<Header> {
  const bytes = packed(path)
  while (!(await bytes.next()).done);
  for await (const header of lines(path)) return requireKnown(path, header as Header)
  throw damaged(path)
}

/**
 * The rows of a backup that was checked.
 * @throws Failure at its end when the file has changed since
 */
export async function* readBatches(path: string): AsyncGenerator<Batch> {
  let isHeader = true
  for await (const line of lines(path)) {
    if (!isHeader) yield line as Batch
    isHeader = false
  }
}

function requireKnown(path: string, header: Header): Header {
  const { axport_backup: format, schema, version } = header
  if (typeof format !== 'number') throw notOne(path)
  const isSchemaKnown = MIGRATIONS.some(({ name }) => name === schema)
  if (format <= FORMAT && isSchemaKnown) return header
  const what = isSchemaKnown ? `format ${format}` : `schema ${schema}`
  throw new Failure(
    `${path} was made by axport ${version} and has ${what}, which this axport does not know: run a newer axport`,
  )
}

const notOne = (path: string) =>
  new Failure(`${path} is not a backup of axport: give a file that axport backup wrote`)

async function* lines(path: string): AsyncGenerator<unknown> {
  let begun: Uint8Array[] = []
  for await (const chunk of unpacked(path)) {
    let begin = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, begin)) {
      const line = Buffer.concat([...begun, chunk.subarray(begin, end)])
      begun = []
      begin = end + 1
      yield parse(path, line)
    }
    if (begin < chunk.length) begun.push(chunk.subarray(begin))
  }
  if (begun.length > 0) throw damaged(path)
}

const NEWLINE = 0x0a

function parse(path: string, line: Buffer): unknown {
  try {
    return JSON.parse(line.toString())
  } catch {
    throw damaged(path)
  }
}

async function* unpacked(path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* pipeline(packed(path), createZstdDecompress(), () => {}) as AsyncIterable<Uint8Array>
  } catch (error) {
    if (/^ZSTD_/.test((error as { code?: string }).code ?? '')) throw damaged(path)
    throw error
  }
}

/** The compressed bytes. The end mark is compared when the last of them has been read. */
async function* packed(path: string): AsyncGenerator<Uint8Array> {
  let file: FileHandle | undefined
  try {
    file = await open(path)
    const { size, mark } = await readEnd(path, file)
    const digest = createHash('sha256')
    for (let at = 0; at < size; ) {
      const chunk = await readAt(file, at, Math.min(CHUNK, size - at))
      if (chunk.length === 0) throw damaged(path)
      digest.update(chunk)
      at += chunk.length
      yield chunk
    }
    if (!endMark(digest.digest('hex')).equals(mark)) throw damaged(path)
  } catch (error) {
    throw readFailure(path, error)
  } finally {
    await file?.close()
  }
}

const CHUNK = 256 * 1024

/** The number of compressed bytes, and the end mark after them. */
async function readEnd(path: string, file: FileHandle): Promise<{ size: number; mark: Buffer }> {
  const stat = await file.stat()
  if (stat.isDirectory()) throw new Failure(`cannot read ${path}: it is a folder`)
  if (!stat.isFile()) throw new Failure(`cannot read ${path}: it is not a file, and a backup is read twice`)
  if (!MAGIC.equals(await readAt(file, 0, MAGIC.length))) throw notOne(path)
  const size = stat.size - endMark('0'.repeat(64)).length
  if (size <= 0) throw damaged(path)
  return { size, mark: await readAt(file, size, stat.size - size) }
}

async function readAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  const { bytesRead } = await file.read(bytes, 0, length, at)
  return bytes.subarray(0, bytesRead)
}

function readFailure(path: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  if (error instanceof Failure || code === undefined) return error
  if (code === 'ENOENT') return new Failure(`cannot read ${path}: there is no such file`)
  if (code === 'EACCES') return new Failure(`cannot read ${path}: this user may not read it`)
  return new Failure(`cannot read ${path}: ${message}`)
}
