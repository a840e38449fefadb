// Measures the service and compares it with limits: `bun run bench`. The options are in options.ts.
import { executable } from '../test/support/executable.ts'
import { handleExits } from './at-exit.ts'
import type { Measure } from './measured-service.ts'
import { again } from './measures/again.ts'
import { cold } from './measures/cold.ts'
import { compressedWalk } from './measures/compressed.ts'
import { disclosures } from './measures/disclosures.ts'
import { earlier } from './measures/earlier.ts'
import { embedded } from './measures/embedded.ts'
import { execution } from './measures/execution.ts'
import { fullExport } from './measures/export.ts'
import { fair } from './measures/fair.ts'
import { few } from './measures/few.ts'
import { filters } from './measures/filters.ts'
import { firstPage } from './measures/first-page.ts'
import { importing } from './measures/import.ts'
import { memory } from './measures/memory.ts'
import { pulling } from './measures/pull.ts'
import { rareProduct } from './measures/rare.ts'
import { rest } from './measures/rest.ts'
import { retrieve } from './measures/retrieve.ts'
import { search } from './measures/search.ts'
import { start } from './measures/start.ts'
import { storm } from './measures/storm.ts'
import { tokens } from './measures/tokens.ts'
import { writes } from './measures/writes.ts'
import { type Options, readOptions, USAGE } from './options.ts'
import { missingPgbench } from './pgbench.ts'
import { report, titleOf } from './report.ts'
import { lineOf, type Result, tableOf } from './results.ts'
import { createWorld, type World } from './world.ts'

const MEASURES = [
  firstPage,
  execution,
  fullExport,
  pulling,
  writes,
  again,
  few,
  rareProduct,
  cold,
  search,
  filters,
  retrieve,
  compressedWalk,
  tokens,
  fair,
  storm,
  memory,
  start,
  embedded,
  importing,
  rest,
  disclosures,
  earlier,
] satisfies Measure[]

/** Prints progress to standard error. Standard output has only the table. */
const say = (text: string) => void process.stderr.write(`${text}\n`)

/** Runs the measures one after the other. A failed measure is reported, and the others still run. */
async function measureAll(world: World, chosen: Measure[]): Promise<{ results: Result[]; failed: number }> {
  const results: Result[] = []
  let failed = 0
  for (const { name, run } of chosen) {
    say(`${name} …`)
    try {
      for (const result of await run(world)) {
        results.push(result)
        say(`  ${lineOf(result)}`)
      }
    } catch (error) {
      failed++
      results.push({ measure: name, unit: '', note: 'failed' })
      say(`  failed: ${error instanceof Error ? error.stack : error}`)
    }
  }
  return { results, failed }
}

/** Returns the exit code. A benchmark fails if it cannot measure, and not if a result is slow. */
async function bench(options: Options, chosen: Measure[]): Promise<number> {
  const missing = missingPgbench()
  if (missing) say(missing)
  const world = await createWorld(options, await executable(), say)
  try {
    const { results, failed } = await measureAll(world, chosen)
    const whole = await report(world, results)
    console.log(`${titleOf(whole)}\n\n${tableOf(results)}`)
    if (options.out) await Bun.write(options.out, `${JSON.stringify(whole, null, 2)}\n`)
    return failed > 0 ? 1 : 0
  } finally {
    await world.close()
  }
}

function choose(only: string[]): Measure[] {
  const unknown = only.filter(name => !MEASURES.some(measure => measure.name === name))
  if (unknown.length > 0) {
    throw new Error(`--only takes ${MEASURES.map(({ name }) => name).join(', ')}, not ${unknown.join(', ')}`)
  }
  return MEASURES.filter(({ name }) => only.length === 0 || only.includes(name))
}

/** Reads the arguments; after a wrong call, prints the error and the usage, and exits. */
function readCall(): { options: Options; chosen: Measure[] } {
  try {
    const options = readOptions(Bun.argv.slice(2))
    return { options, chosen: choose(options.only) }
  } catch (error) {
    say(`${error instanceof Error ? error.message : error}\n${USAGE}`)
    process.exit(2)
  }
}

const { options, chosen } = readCall()
handleExits()
try {
  process.exit(await bench(options, chosen))
} catch (error) {
  say(`the benchmark cannot run: ${error instanceof Error ? error.message : error}`)
  process.exit(1)
}
