// Makes small changes of the code, one at a time, and counts those that no test notices. Run by `bun run mutants`.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import equivalent from './equivalent.json' with { type: 'json' }
import { lineOf, linesOf, type Mutant } from './mutant.ts'
import { type Options, readOptions, USAGE } from './options.ts'
import { printRates, type Result } from './rates.ts'
import { sampleOf } from './sample.ts'
import { testsOf } from './tests.ts'
import { copyOf, runTests, tryMutant } from './trial.ts'

const project = join(import.meta.dir, '..')

async function main(options: Options): Promise<void> {
  const copies = Array.from({ length: options.atOnce }, () => copyOf(project))
  const [first = ''] = copies.map(({ root }) => root)
  try {
    const sample = await sampleOf(first, options)
    const known = resultsIn(options.results)
    if (known.length === 0) await requirePassing(first, [...new Set(sample.map(({ path }) => path))])
    const left = [...sample]
    const results: Result[] = []
    const end = performance.now() + options.minutes * 60_000
    await Promise.all(
      copies.map(async ({ root }) => {
        for (let mutant = left.shift(); mutant; mutant = left.shift()) {
          const source = readFileSync(join(project, mutant.path), 'utf8')
          const change = { path: mutant.path, ...linesOf(source, mutant) }
          const old = explained(change) ?? known.find(one => isSame(one, change))
          if (!old && performance.now() > end) continue
          const result = old ?? { ...change, ...(await timed(root, mutant)) }
          if (!old && options.results) appendFileSync(options.results, `${JSON.stringify(result)}\n`)
          if (result.outcome === 'survived')
            console.log(`${mutant.path}:${lineOf(source, mutant)}\n  - ${change.before}\n  + ${change.after}`)
          results.push(result)
        }
      }),
    )
    printRates(results, sample.length)
  } finally {
    for (const copy of copies) copy.remove()
  }
}

type Changed = Pick<Result, 'path' | 'before' | 'after'>

const isSame = (one: Changed, other: Changed) =>
  one.path === other.path && one.before === other.before && one.after === other.after

/** The result of an equivalent mutant, from equivalent.json; undefined for others. */
function explained(change: Changed): Result | undefined {
  const found = equivalent.find(one => isSame(one, change))
  return found && { ...change, outcome: 'equivalent', by: found.why, seconds: 0 }
}

async function timed(root: string, mutant: Mutant) {
  const start = performance.now()
  const verdict = await tryMutant(root, mutant, testsOf(mutant.path))
  return { ...verdict, seconds: Math.round((performance.now() - start) / 100) / 10 }
}

/** @throws Error if a test fails without any change */
async function requirePassing(root: string, paths: string[]): Promise<void> {
  const tests = new Set(paths.flatMap(testsOf))
  const { outcome, by } = await runTests(root, [...tests])
  if (outcome !== 'survived') throw new Error(`without any change this test fails: ${by}`)
}

function resultsIn(file: string | undefined): Result[] {
  if (!file || !existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  return lines.map(line => JSON.parse(line) as Result)
}

function optionsOrExit(): Options {
  try {
    return readOptions(process.argv.slice(2))
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`)
    return process.exit(2)
  }
}

await main(optionsOrExit())
// The connection to the tests' Postgres is still open, and would keep this process alive.
process.exit(0)
