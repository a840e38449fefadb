import { createReadStream, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../errors.ts'
import { onTimeout } from '../timeouts.ts'
import { csv, isCsvName, type StoredFile } from './csv.ts'
import { ndjson } from './ndjson.ts'
import type { ImportSource } from './source-rows.ts'

/** A stream that is silent for longer has lost its writer, or hangs: its import keeps a transaction open. */
const SILENCE_MS = 10 * 60_000

/**
 * Opens NDJSON, a folder of CSV files, or for "-" standard input.
 * @param silenceMs given by tests only
 * @throws Failure if it cannot be read
 */
export function openSource(file: string, silenceMs = SILENCE_MS): ImportSource {
  if (file === '-') return openStream('standard input', () => process.stdin, silenceMs)
  try {
    const stat = statSync(file)
    if (stat.isDirectory()) return openFolder(file)
    if (!stat.isFile()) return openStream(file, () => createReadStream(file), silenceMs)
    return ndjson({ name: file, chunks: readFile(file), size: stat.size })
  } catch (error) {
    throw unreadable(file, error)
  }
}

function openStream(name: string, open: () => AsyncIterable<Uint8Array>, silenceMs: number): ImportSource {
  const chunks = untilSilent(name, reading(name, open), silenceMs)
  return { ...ndjson({ name, chunks }), isStream: true }
}

/** Passes chunks on. @throws Failure if the next one does not come in time */
async function* untilSilent(name: string, chunks: AsyncGenerator<Uint8Array>, silenceMs: number) {
  for (;;) {
    const silence = Promise.withResolvers<never>()
    const endTimeout = onTimeout(silenceMs, () =>
      silence.reject(
        new Failure(
          `nothing was loaded: ${name} sent nothing for ten minutes: check the program that writes it, and run both again`,
        ),
      ),
    )
    const next = await Promise.race([chunks.next(), silence.promise]).finally(endTimeout)
    if (next.done) return
    yield next.value
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
