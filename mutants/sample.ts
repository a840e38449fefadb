import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Changed } from './equivalents.ts'
import { linesOf, type Mutant } from './mutant.ts'
import type { Options } from './options.ts'
import { sqlChanges } from './sql.ts'
import { mutatedFiles } from './tests.ts'
import { mutantsOfTypeScript } from './typescript.ts'

/**
 * A sample of these mutants of the project at `root`: those whose change has the smallest hash with the seed. So a
 * sample only changes for lines that were edited.
 */
export function sampleOf(mutants: Mutant[], changeOf: ChangeOf, { only, sample, seed }: Options): Mutant[] {
  const rankOf = (mutant: Mutant) => {
    const { path, ...lines } = changeOf(mutant)
    return BigInt(Bun.hash(JSON.stringify([path, lines]), BigInt(seed)))
  }
  return mutants
    .filter(({ path }) => only.length === 0 || only.some(start => path.startsWith(start)))
    .map(mutant => ({ mutant, rank: rankOf(mutant) }))
    .sort((one, other) => (one.rank < other.rank ? -1 : 1))
    .slice(0, Math.min(sample, mutants.length))
    .map(({ mutant }) => mutant)
}

type ChangeOf = (mutant: Mutant) => Changed

/** The lines of a mutant of the project at `root`, before and after. Each file is read once. */
export function changesIn(root: string): ChangeOf {
  const sources = new Map<string, string>()
  return mutant => {
    const { path } = mutant
    const source = sources.get(path) ?? readFileSync(join(root, path), 'utf8')
    sources.set(path, source)
    return { path, ...linesOf(source, mutant) }
  }
}

/** All mutants of the project at `root`, a folder that is written to. */
export async function mutantsOf(root: string): Promise<Mutant[]> {
  const paths = mutatedFiles(root)
  const isSql = (path: string) => path.endsWith('.sql')
  const ofSql = paths.filter(isSql).flatMap(path => {
    const changes = sqlChanges(readFileSync(join(root, path), 'utf8'))
    return changes.map(change => ({ path, ...change }))
  })
  const typescript = paths.filter(path => !isSql(path))
  return [...ofSql, ...(await mutantsOfTypeScript(root, typescript))]
}
