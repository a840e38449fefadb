import { type Entry, openPromise, type ZipFile } from 'yauzl'
import { Failure } from '../errors.ts'
import type { StoredFile } from './csv.ts'

/**
 * The files of a zip, from whatever folder in it. Each is inflated as it is read, so that neither a large zip
 * nor one that pretends to be small fills the memory.
 * @throws Failure for a file that is no whole zip
 */
export async function filesOfZip(path: string): Promise<StoredFile[]> {
  try {
    const zip = await openPromise(path, { autoClose: false })
    const files: StoredFile[] = []
    for await (const entry of zip.eachEntry()) {
      // What macOS adds to every zip.
      if (entry.fileName.endsWith('/') || entry.fileName.startsWith('__MACOSX/')) continue
      const name = entry.fileName.split('/').at(-1) ?? ''
      files.push({ name, size: entry.uncompressedSize, open: () => readEntry(zip, entry) })
    }
    return files
  } catch (error) {
    throw damaged(error)
  }
}

async function* readEntry(zip: ZipFile, entry: Entry): AsyncGenerator<Uint8Array> {
  if (entry.isEncrypted())
    throw new Failure(`${entry.fileName} is encrypted: make the zip without a password`)
  try {
    yield* await zip.openReadStreamPromise(entry)
  } catch (error) {
    throw damaged(error)
  }
}

function damaged(error: unknown): Failure {
  return new Failure(
    `the zip is damaged or cut short (${(error as Error).message}): fetch or make the file again`,
  )
}
