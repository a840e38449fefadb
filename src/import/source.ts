import { createReadStream, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Entry, openPromise, type ZipFile } from 'yauzl'
import { Failure } from '../errors.ts'
import { csv, type StoredFile } from './csv.ts'
import { ndjson } from './ndjson.ts'
import type { RecordSource } from './record.ts'
import { isZip } from './text.ts'

/** Opens NDJSON, a folder or zip of CSV files, or for "-" standard input. Throws a Failure if it cannot be read. */
export async function openSource(file: string): Promise<RecordSource> {
  if (file === '-')
    return ndjson({ name: 'standard input', chunks: reading('standard input', () => process.stdin) })
  try {
    const stat = statSync(file)
    if (stat.isDirectory()) return csv(filesOfFolder(file), `the folder ${file}`)
    if (!stat.isFile()) return ndjson({ name: file, chunks: readFile(file) })
    // A file's first bytes decide on its format, as they do for gzip; its name does not.
    if (isZip(await Bun.file(file).slice(0, 4).bytes())) return csv(await filesOfZip(file), file)
    return ndjson({ name: file, chunks: readFile(file), size: stat.size })
  } catch (error) {
    throw unreadable(file, error)
  }
}

const readFile = (path: string) => reading(path, () => createReadStream(path, { highWaterMark: 256 * 1024 }))

type Chunks = AsyncIterable<Uint8Array>

/** A generator, so that nothing is opened before its first bytes are read. */
async function* reading(name: string, open: () => Chunks | Promise<Chunks>): AsyncGenerator<Uint8Array> {
  try {
    yield* await open()
  } catch (error) {
    throw unreadable(name, error)
  }
}

function unreadable(name: string, error: unknown): Failure {
  if (error instanceof Failure) return error
  const { code, message } = error as NodeJS.ErrnoException
  const known = REASONS[code ?? '']
  if (known) return new Failure(`cannot read ${name}: ${known}`)
  // The errors of a zip are not of the system.
  const advice = code?.startsWith('E') ? '' : ', the zip is damaged or cut short: fetch or make it again'
  return new Failure(`cannot read ${name}: ${message}${advice}`)
}

const REASONS: Record<string, string> = {
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
  EISDIR: 'it is a folder',
}

function filesOfFolder(folder: string): StoredFile[] {
  const names = readdirSync(folder).filter(name => !name.startsWith('.'))
  return names.map(name => {
    const path = join(folder, name)
    return { name, size: statSync(path).size, chunks: readFile(path) }
  })
}

/** The files in all folders of a zip. Each is inflated as it is read: no large zip and no zip bomb fills the memory. */
async function filesOfZip(path: string): Promise<StoredFile[]> {
  const zip = await openPromise(path, { autoClose: false })
  const files: StoredFile[] = []
  for await (const entry of zip.eachEntry()) {
    // macOS adds these to every zip.
    if (entry.fileName.endsWith('/') || entry.fileName.startsWith('__MACOSX/')) continue
    const name = entry.fileName.split('/').at(-1) ?? ''
    files.push({ name, size: entry.uncompressedSize, chunks: reading(name, () => openEntry(zip, entry)) })
  }
  return files
}

function openEntry(zip: ZipFile, entry: Entry): Promise<Chunks> {
  if (!entry.isEncrypted()) return zip.openReadStreamPromise(entry)
  throw new Failure(`${entry.fileName} is encrypted: make the zip without a password`)
}
