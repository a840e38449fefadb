// Runs a mixed load for a long time, during imports and rotations: bun run test:soak --minutes 30
import { parseArgs } from 'node:util'
import { cleanUp, type Running, start } from '../../support/executable.ts'
import { freePort } from '../../support/free-port.ts'
import { isClosed } from '../../support/served.ts'
import { until } from '../../support/until.ts'
import { changingTruth } from '../chaos/support/changing-truth.ts'
import { makeWorld, type World } from '../chaos/support/world.ts'
import { lateRecords, startWriters } from '../chaos/support/writers.ts'
import { type Sample, TimedLoad, usage } from './samples.ts'
import { trends } from './verdict.ts'

const WALKERS = 6
const ASSESSMENTS = 6000

/** Milliseconds between two samples. */
const SAMPLE_MS = 30_000

/** Milliseconds between two writes of a kind. */
const WRITE_PAUSE_MS = 5000

/** Runs the load and prints a row for each sample. Returns whether every measure was flat and every answer right. */
async function soak(world: World, service: Running & { url: string }, minutes: number): Promise<boolean> {
  const load = new TimedLoad(service.url, world.credentials, changingTruth(world, lateRecords(world)))
  const writers = await startWriters(world, WRITE_PAUSE_MS)
  await load.start(WALKERS)
  // The first interval is warm-up: the first pages of a process and of its database are slower.
  await Bun.sleep(SAMPLE_MS)
  load.take()
  const samples: Sample[] = []
  const began = performance.now()
  while (performance.now() - began < minutes * 60_000) {
    await Bun.sleep(SAMPLE_MS)
    const minute = (performance.now() - began) / 60_000
    const { open } = await world.postgres.connections()
    const sample = { minute, connections: open, ...usage(service.pid), ...load.take() }
    print(sample, samples.length === 0)
    samples.push(sample)
  }
  await Promise.all([load.stop(), writers.stop()])
  const faults = load.faults.report()
  for (const fault of faults) console.log(`wrong: ${fault}`)
  console.log(`\n${load.summary()}\n${JSON.stringify(writers.written)}\n`)
  const all = trends(samples)
  for (const { measure, first, last, isFlat } of all)
    console.log(
      `${measure.padEnd(12)} ${first.toFixed(1)} → ${last.toFixed(1)}  ${isFlat ? 'flat' : 'NOT FLAT'}`,
    )
  return faults.length === 0 && all.every(({ isFlat }) => isFlat)
}

function print(sample: Sample, isFirst: boolean): void {
  const row = (cells: string[]) => console.log(`| ${cells.join(' | ')} |`)
  if (isFirst) row(Object.keys(sample))
  if (isFirst) row(Object.keys(sample).map(() => '---:'))
  row(Object.values(sample).map(value => (Number.isInteger(value) ? String(value) : value.toFixed(1))))
}

const { values } = parseArgs({
  args: Bun.argv.slice(2),
  options: { minutes: { type: 'string', default: '30' } },
})
// Autovacuum must remove the dead rows of half an hour of writes.
const world = await makeWorld({ assessments: ASSESSMENTS, settings: { autovacuum: 'on' } })
let isFine = false
try {
  const port = String(await freePort())
  // This process keeps the whole log in memory, so the service does not log requests.
  const env = { DATABASE_URL: world.url, DATABASE_POOL_SIZE: '10', PORT: port, LOG_LEVEL: 'warn' }
  const running = await start(['serve'], { env })
  const service = { ...running, url: `http://127.0.0.1:${port}` }
  await until('the service listens', async () => !(await isClosed(service.url)))
  isFine = await soak(world, service, Number(values.minutes))
  service.signal('SIGTERM')
  const { code, stdout, stderr } = await service.finished
  // Warnings are printed, but are no failure: a busy machine causes warnings about slow requests.
  const warnings = stdout.split('\n').filter(Boolean)
  if (warnings.length > 0) console.log(`\n${warnings.length} warnings, as ${warnings[0]}`)
  if (code !== 0 || stderr !== '') console.log(`exit code ${code}: ${stderr}`)
  isFine &&= code === 0 && stderr === ''
} finally {
  await cleanUp()
  await world.postgres.stop()
}
console.log(isFine ? '\nflat' : '\nNOT FLAT, or a wrong answer or exit code')
process.exit(isFine ? 0 : 1)
