// Too long for every check: bun run test:long
import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyDatabase, type TestDatabase } from '../../support/cluster.ts'
import { axport, cleanUp, emptyFolder, serve, shell, start } from '../../support/executable.ts'
import { provision, walk } from '../../support/walk.ts'

setDefaultTimeout(60 * 60_000)

let database: TestDatabase
let env: Record<string, string>

beforeEach(async () => {
  database = await emptyDatabase()
  env = { DATABASE_URL: database.url }
  expect((await axport(['migrate'], { env })).code).toBe(0)
})
afterEach(async () => {
  await cleanUp()
  await database.drop()
})

/** Writes a sample to a file and tells its name. */
async function sample(assessments: number): Promise<string> {
  const file = join(emptyFolder(), 'sample.ndjson')
  const { code } = await shell(`"$AXPORT" sample ${assessments} > ${file}`, { patience: 600_000 })
  expect(code).toBe(0)
  return file
}

/** Imports a file and tells the seconds it took and the most memory that the process had, in MB (Linux only). */
async function importWatched(file: string): Promise<{ seconds: number; megabytes: number }> {
  const began = performance.now()
  const importing = await start(['import', file], { env })
  let megabytes = 0
  while (importing.exitCode() === undefined) {
    megabytes = Math.max(megabytes, peakMemory(importing.pid))
    await Bun.sleep(20)
  }
  expect(await importing.finished).toMatchObject({ code: 0, stderr: '' })
  expect(megabytes).toBeGreaterThan(0)
  return { seconds: (performance.now() - began) / 1000, megabytes }
}

function peakMemory(pid: number): number {
  try {
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return Number(kilobytes ?? 0) / 1024
  } catch {
    return 0
  }
}

const rounded = (object: Record<string, number>) =>
  Object.entries(object)
    .map(([unit, number]) => `${number.toFixed(0)} ${unit}`)
    .join(', ')

test('100,000 assessments are imported, and a walk of all pages finds each once', async () => {
  const file = await sample(100_000)
  console.log(`100,000 imported: ${rounded(await importWatched(file))}`)
  const scope = await shell(`grep -E '"type":"(organization|product)"' ${file}`)
  const credentials = await provision(env, scope.stdout)
  const server = await serve(env)
  const began = performance.now()
  const records = await walk(server.url, credentials)
  console.log(`walked: ${((performance.now() - began) / 1000).toFixed(1)} s`)
  expect(records).toHaveLength(100_000)
  expect(new Set(records.map(({ id }) => id)).size).toBe(100_000)
  server.signal('SIGTERM')
  expect((await server.finished).code).toBe(0)
})

test('1,000,000 assessments are imported within 300 MB of memory, and once more when they are there', async () => {
  const file = await sample(1_000_000)
  for (const round of ['imported', 'imported again']) {
    const { seconds, megabytes } = await importWatched(file)
    console.log(`1,000,000 ${round}: ${rounded({ seconds, megabytes })}`)
    expect(megabytes).toBeLessThan(300)
  }
})
