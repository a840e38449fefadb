import { createReadStream, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../errors.ts'
import { csv, isCsvName, type StoredFile } from './csv.ts'
import { ndjson } from './ndjson.ts'
import type { ImportSource } from './source-rows.ts'

/** Opens NDJSON, a folder of CSV files, or for "-" standard input. Throws a Failure if it cannot be read. */
export function openSource(file: string): ImportSource {
  if (file === '-')
    return ndjson({ name: 'standard input', chunks: reading('standard input', () => process.stdin) })
  try {
    const stat = statSync(file)
    if (stat.isDirectory()) return openFolder(file)
    return ndjson({ name: file, chunks: readFile(file), ...(stat.isFile() && { size: stat.size }) })
  } catch (error) {
    throw unreadable(file, error)
  }
}

const readFile = (path: string) => reading(path, () => createReadStream(path))

/** A generator, so that nothing is opened before its first bytes are read. */
async function* reading(name: string, open: () => AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* open()
  } catch (error) {
    throw unreadable(name, error)
  }
}

function unreadable(name: string, error: unknown): Failure {
  if (error instanceof Failure) return error
  const { code, message } = error as NodeJS.ErrnoException
  return new Failure(`cannot read ${name}: ${REASONS[code ?? ''] ?? message}`)
}

const REASONS: Record<string, string> = {
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
  EISDIR: 'it is a folder',
  ELOOP: 'it is a link that leads to itself',
}

/** All else than the files is not looked at: it may be a link that leads nowhere. */
function openFolder(folder: string): ImportSource {
  const names = readdirSync(folder).filter(name => !name.startsWith('.'))
  const files = names.filter(isCsvName).map((name): StoredFile => {
    const path = join(folder, name)
    try {
      return { name, size: statSync(path).size, chunks: readFile(path) }
    } catch (error) {
      throw unreadable(path, error)
    }
  })
  const others = names.filter(name => !isCsvName(name))
  return csv(files, others, `the folder ${folder}`)
}
