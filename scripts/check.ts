// Runs all checks; the last line of the output is `N passed, N failed`. Run by `bun run check`; CHECK=all adds the
// long tests.
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { countTests, secondsOfFiles, skippedBecause } from './junit.ts'
import { print, runStep } from './step.ts'
import { isLong, runTests, type TestRun, type Tier, testFiles } from './tests.ts'

const root = join(import.meta.dir, '..')
const executable = join(root, 'dist', 'axport')
const modules = join(root, 'node_modules')
const bun = process.execPath
const tier: Tier = process.env.CHECK === 'all' ? 'all' : 'fast'

/** An error if Bun has another version than package.json requires: the executable contains the Bun that builds it. */
async function wrongVersion(): Promise<string | null> {
  const { packageManager } = (await Bun.file(join(root, 'package.json')).json()) as { packageManager: string }
  if (packageManager === `bun@${Bun.version}`) return null
  return `this is Bun ${Bun.version}, the project needs ${packageManager}: npx -y ${packageManager} run check`
}

/** TEST_SEED for all processes of the run: under CHECK=all a random number, unless TEST_SEED is set. */
function seedOfRun(): Record<string, string> {
  if (tier === 'fast' || process.env.TEST_SEED) return {}
  const TEST_SEED = String(randomInt(2 ** 30))
  console.log(`TEST_SEED=${TEST_SEED} repeats the random inputs of this run`)
  return { TEST_SEED }
}

/** Prints the slowest test files, the skipped tests, and the number of files that this tier leaves out. */
function printSummary(runs: TestRun[]): void {
  const slowest = runs
    .flatMap(({ report }) => secondsOfFiles(report ?? ''))
    .sort(([, a], [, b]) => b - a)
    .slice(0, 10)
  console.log('\nThe slowest test files:')
  for (const [file, seconds] of slowest) console.log(`${seconds.toFixed(1).padStart(7)} s  ${file}`)
  for (const { report } of runs) {
    for (const [reason, count] of skippedBecause(report ?? '')) console.log(`skipped ${count}: ${reason}`)
  }
  if (tier === 'fast') {
    const long = testFiles(root).filter(isLong).length
    console.log(
      `Left out: ${long} long test files. To run them as well: CHECK=all npx -y bun@${Bun.version} run check`,
    )
  }
}

function finish(passed: number, failed: number, skipped: number): never {
  console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  process.exit(failed > 0 ? 1 : 0)
}

const complaint = await wrongVersion()
if (complaint) {
  console.error(complaint)
  finish(0, 1, 0)
}
// On CI, Biome colours every single character of its output by default.
const colors = process.stdout.isTTY ? [] : ['--colors=off']
const step = async (name: string, ...command: string[]) => {
  const result = await runStep(name, [bun, ...command], { cwd: root })
  print(result)
  return result.ok
}
// The tests need the executable, so the build comes first. All other steps run at the same time; a failed one stops
// none.
const besides = Promise.all([
  step('format and lint', join(modules, '@biomejs', 'biome', 'bin', 'biome'), 'ci', ...colors),
  // By default it checks what the files share once in each of four threads, which takes a third more processor time.
  step('types', join(modules, 'typescript', 'bin', 'tsc'), '--noEmit', '--singleThreaded'),
])
const isBuilt = await step('build', join(root, 'scripts', 'build.ts'), '--outfile', executable)
const runs = await runTests(root, tier, executable, seedOfRun(), process.argv.includes('--update-timings'))
const failedSteps = [isBuilt, ...(await besides)].filter(ok => !ok).length
printSummary(runs)
const counts = runs.map(({ report, files, ok }) => countTests(report, files, ok))
const sum = (key: 'passed' | 'failed' | 'skipped') => counts.reduce((total, each) => total + each[key], 0)
finish(sum('passed'), sum('failed') + failedSteps, sum('skipped'))
