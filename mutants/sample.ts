import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { linesOf, type Mutant } from './mutant.ts'
import type { Options } from './options.ts'
import { sqlChanges } from './sql.ts'
import { MUTATED } from './tests.ts'
import { mutantsOfTypeScript } from './typescript.ts'

/**
 * A sample of the mutants of the project at `root`: those whose change has the smallest hash with the seed. So a sample
 * only changes for lines that were edited.
 */
export async function sampleOf(root: string, { only, sample, seed }: Options): Promise<Mutant[]> {
  const mutants = await mutantsOf(root, only)
  const sources = new Map(mutants.map(({ path }) => [path, readFileSync(join(root, path), 'utf8')]))
  const rankOf = (mutant: Mutant) => {
    const lines = linesOf(sources.get(mutant.path) ?? '', mutant)
    return BigInt(Bun.hash(JSON.stringify([mutant.path, lines]), BigInt(seed)))
  }
  return mutants
    .map(mutant => ({ mutant, rank: rankOf(mutant) }))
    .sort((one, other) => (one.rank < other.rank ? -1 : 1))
    .slice(0, Math.min(sample, mutants.length))
    .map(({ mutant }) => mutant)
}

/** All mutants of the files whose paths begin with one of `only`; of all files if `only` is empty. */
async function mutantsOf(root: string, only: string[]): Promise<Mutant[]> {
  const paths = MUTATED.filter(path => only.length === 0 || only.some(start => path.startsWith(start)))
  const isSql = (path: string) => path.endsWith('.sql')
  const typescript = paths.filter(path => !isSql(path))
  const ofSql = paths.filter(isSql).flatMap(path => {
    const changes = sqlChanges(readFileSync(join(root, path), 'utf8'))
    return changes.map(change => ({ path, ...change }))
  })
  return [...ofSql, ...(typescript.length > 0 ? await mutantsOfTypeScript(root, typescript) : [])]
}
