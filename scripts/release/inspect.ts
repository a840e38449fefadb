import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isMachO, readHeader } from './header.ts'
import { signatureFault } from './signature.ts'
import type { Target } from './targets.ts'

const engine = join(import.meta.dir, '..', '..', 'node_modules', '@electric-sql', 'pglite', 'dist')

/** The files that start the embedded database (src/postgres/embedded/pglite-assets.ts). */
const ASSETS = ['initdb.wasm', 'pglite.data', 'pglite.wasm', 'pg_trgm.tar.gz']

/**
 * Inspects an executable without running it.
 * @throws Error unless its header is the target's, its signature is valid if the target needs one, and it contains the
 *   files of the embedded database, byte for byte
 */
export function inspect(executable: Buffer, target: Target): void {
  const header = readHeader(executable)
  if (!Bun.deepEquals(header, target.header))
    throw new Error(`${target.name} has the header of another machine: ${JSON.stringify(header)}`)
  const fault = isMachO(executable) ? signatureFault(executable) : undefined
  if (fault) throw new Error(`macOS would not run ${target.name}: ${fault}`)
  for (const asset of ASSETS)
    if (!executable.includes(readFileSync(join(engine, asset))))
      throw new Error(`${target.name} does not contain ${asset} of the embedded database`)
}
