// Makes small changes of the code, one at a time, and counts those that no test notices. Run by `bun run mutants`.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { explanationOf, isSame, requireCurrent } from './equivalents.ts'
import { lineOf, type Mutant } from './mutant.ts'
import { type Options, readOptions, USAGE } from './options.ts'
import { printRates, type Result } from './rates.ts'
import { changesIn, mutantsOf, sampleOf } from './sample.ts'
import { testsOf } from './tests.ts'
import { copyOf, runTests, tryMutant } from './trial.ts'

const project = join(import.meta.dir, '..')

async function main(options: Options): Promise<void> {
  const copies = Array.from({ length: options.atOnce }, () => copyOf(project))
  const [first = ''] = copies.map(({ root }) => root)
  try {
    const all = await mutantsOf(first)
    const changeOf = changesIn(project)
    requireCurrent(all.map(changeOf))
    const sample = sampleOf(all, changeOf, options)
    const known = resultsIn(options.results)
    if (known.length === 0) await requirePassing(first, [...new Set(sample.map(({ path }) => path))])
    const left = [...sample]
    const results: Result[] = []
    const end = performance.now() + options.minutes * 60_000
    await Promise.all(
      copies.map(async ({ root }) => {
        for (let mutant = left.shift(); mutant; mutant = left.shift()) {
          const change = changeOf(mutant)
          const why = explanationOf(change)
          const explained: Result | undefined =
            why === undefined ? undefined : { ...change, outcome: 'equivalent', by: why, seconds: 0 }
          const old = explained ?? known.find(one => isSame(one, change))
          if (!old && performance.now() > end) continue
          const result = old ?? { ...change, ...(await timed(root, mutant)) }
          if (!old && options.results) appendFileSync(options.results, `${JSON.stringify(result)}\n`)
          if (result.outcome === 'survived')
            console.log(
              `${mutant.path}:${lineOf(sourceOf(mutant), mutant)}\n  - ${change.before}\n  + ${change.after}`,
            )
          results.push(result)
        }
      }),
    )
    printRates(results, sample.length)
  } finally {
    for (const copy of copies) copy.remove()
  }
}

const sourceOf = ({ path }: Mutant) => readFileSync(join(project, path), 'utf8')

async function timed(root: string, mutant: Mutant) {
  const start = performance.now()
  const verdict = await tryMutant(root, mutant, testsOf(mutant.path))
  return { ...verdict, seconds: Math.round((performance.now() - start) / 100) / 10 }
}

/** Runs each file of tests on its own, as all of them take longer than a trial may. @throws Error if one fails */
async function requirePassing(root: string, paths: string[]): Promise<void> {
  for (const test of new Set(paths.flatMap(testsOf))) {
    const { outcome, by } = await runTests(root, [test])
    if (outcome !== 'survived') throw new Error(`without any change ${test} fails: ${by}`)
  }
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
