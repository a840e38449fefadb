// Measures the service: `bun run bench`. The options are in options.ts.
import { cleanUp } from '../support/executable.ts'
import { cold } from './measures/cold.ts'
import { disclosures } from './measures/disclosures.ts'
import { jumps } from './measures/jumps.ts'
import { load } from './measures/load.ts'
import { narrow } from './measures/narrow.ts'
import { rates } from './measures/rates.ts'
import { start } from './measures/start.ts'
import { storm } from './measures/storm.ts'
import { walk } from './measures/walk.ts'
import { writes } from './measures/writes.ts'
import { type Options, readOptions, USAGE } from './options.ts'
import { lineOf, report, textOf } from './report.ts'
import { inTurns, type Measure, type Result, resultsOf } from './turns.ts'
import { createWorld, type World } from './world.ts'

const MEASURES = [rates, walk, cold, jumps, narrow, writes, start, storm, load, disclosures]

/** Prints progress to standard error. Standard output has only the table. */
const say = (text: string) => void process.stderr.write(`${text}\n`)

/** Reads the arguments; after a wrong call, prints the error and the usage, and exits. */
function readCall(): { options: Options; chosen: Measure[] } {
  try {
    const options = readOptions(Bun.argv.slice(2))
    const names = MEASURES.map(({ name }) => name)
    const unknown = options.only.filter(name => !names.includes(name))
    if (unknown.length > 0) throw new Error(`--only takes ${names.join(', ')}, not ${unknown.join(', ')}`)
    const chosen = MEASURES.filter(({ name }) => options.only.length === 0 || options.only.includes(name))
    return { options, chosen }
  } catch (error) {
    say(`${error instanceof Error ? error.message : error}\n${USAGE}`)
    process.exit(2)
  }
}

/** Runs a measure on all sides, in turns. */
async function runMeasure({ sides }: World, { prepare }: Measure): Promise<Result[]> {
  try {
    const rounds = []
    for (const side of sides) rounds.push(await prepare(side))
    return resultsOf(await inTurns(sides[0].options.rounds, rounds))
  } finally {
    for (const side of sides) await side.endServices()
  }
}

/** Runs the measures one after the other. The first one that fails ends the benchmark. */
async function bench(options: Options, chosen: Measure[]): Promise<void> {
  const world = await createWorld(options, say)
  try {
    const results: Result[] = []
    for (const measure of chosen) {
      say(`${measure.name} …`)
      const found = await runMeasure(world, measure)
      for (const result of found) say(`  ${lineOf(result)}`)
      results.push(...found)
    }
    const whole = await report(world, results)
    console.log(textOf(whole))
    if (options.out) await Bun.write(options.out, `${JSON.stringify(whole, null, 2)}\n`)
  } finally {
    await world.close()
  }
}

const { options, chosen } = readCall()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => void cleanUp().finally(() => process.exit(130)))
try {
  await bench(options, chosen)
} catch (error) {
  say(`the benchmark cannot run: ${error instanceof Error ? error.message : error}`)
  process.exitCode = 1
}
await cleanUp()
process.exit()
