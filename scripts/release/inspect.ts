import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isMachO, readHeader } from './header.ts'
import { signatureFault } from './signature.ts'
import type { Target } from './targets.ts'

const engine = join(import.meta.dir, '..', '..', 'node_modules', '@electric-sql', 'pglite', 'dist')

/** What the embedded database is started from (src/postgres/embedded/pglite-assets.ts). */
const ASSETS = ['initdb.wasm', 'pglite.data', 'pglite.wasm', 'pg_trgm.tar.gz']

/**
 * Looks at an executable without running it.
 * @throws Error unless its header is the target's, its signature holds where it has to have one, and the files of the
 *   embedded database are inside, byte for byte
 */
export function inspect(executable: Buffer, target: Target): void {
  const header = readHeader(executable)
  if (!Bun.deepEquals(header, target.header))
    throw new Error(`${target.name} has the header of another machine: ${JSON.stringify(header)}`)
  const fault = isMachO(executable) ? signatureFault(executable) : undefined
  if (fault) throw new Error(`${target.name} would be ended by macOS: ${fault}`)
  for (const asset of ASSETS)
    if (!executable.includes(readFileSync(join(engine, asset))))
      throw new Error(`${target.name} does not have ${asset} of the embedded database inside`)
}
