import { closeSync, createReadStream, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../errors.ts'
import { csv, type StoredFile } from './csv.ts'
import { ndjson } from './ndjson.ts'
import type { RecordSource } from './record.ts'
import { filesOfZip } from './zip.ts'

/**
 * Opens FILE: NDJSON, a folder of CSV files, or a zip of such; "-" is NDJSON on standard input.
 * @throws Failure when it cannot be read
 */
export async function openSource(file: string): Promise<RecordSource> {
  if (file === '-') return ndjson({ name: 'standard input', chunks: standardInput() })
  try {
    const stat = statSync(file)
    if (stat.isDirectory()) return csv(filesOfFolder(file), `the folder ${file}`)
    if (!stat.isFile()) return ndjson({ name: file, chunks: openFile(file) })
    if (startsAsZip(file)) return csv(await filesOfZip(file), file)
    return ndjson({ name: file, chunks: openFile(file), size: stat.size })
  } catch (error) {
    if (error instanceof Failure) throw error
    throw new Failure(`cannot read ${file}: ${reasonOf(error as NodeJS.ErrnoException)}`)
  }
}

/** Looked at when its first bytes are taken, as a file is. */
async function* standardInput(): AsyncGenerator<Uint8Array> {
  try {
    yield* process.stdin as AsyncIterable<Uint8Array>
  } catch (error) {
    throw new Failure(`cannot read standard input: ${reasonOf(error as NodeJS.ErrnoException)}`)
  }
}

function filesOfFolder(folder: string): StoredFile[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(entry => !entry.name.startsWith('.'))
    .map(({ name }) => {
      const path = join(folder, name)
      return { name, size: statSync(path).size, open: () => openFile(path) }
    })
}

/** Opened when the first bytes are taken; an error of reading says which file it was. */
async function* openFile(path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path, { highWaterMark: 256 * 1024 }) as AsyncIterable<Uint8Array>
  } catch (error) {
    throw new Failure(`cannot read ${path}: ${reasonOf(error as NodeJS.ErrnoException)}`)
  }
}

/** By its first bytes, as gzip is: names are not to be relied on. */
function startsAsZip(path: string): boolean {
  const start = Buffer.alloc(4)
  const descriptor = openSync(path, 'r')
  try {
    readSync(descriptor, start)
  } finally {
    closeSync(descriptor)
  }
  return start.equals(Buffer.from('PK\x03\x04')) || start.equals(Buffer.from('PK\x05\x06'))
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'EACCES') return 'this user may not read it'
  if (code === 'EISDIR') return 'it is a folder'
  return message
}
