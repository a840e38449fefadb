import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { timedImport, writeSample } from '../bench/program.ts'
import { emptyDatabase, type TestDatabase } from '../support/cluster.ts'
import { axport, cleanUp, emptyFolder, executable, serve, shell } from '../support/executable.ts'
import { provision, walk } from '../support/walk.ts'

setDefaultTimeout(60 * 60_000)

let database: TestDatabase
let env: Record<string, string>

beforeEach(async () => {
  database = await emptyDatabase()
  env = { DATABASE_URL: database.url }
  expect((await axport(['migrate', '--time-zone', 'UTC'], { env })).code).toBe(0)
})
afterEach(async () => {
  await cleanUp()
  await database.drop()
})

test('100,000 assessments can be imported, and a walk of all pages finds each once', async () => {
  const file = await writeSample(await executable(), 100_000, emptyFolder())
  await timedImport(await executable(), database.url, file)
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

test('1,000,000 assessments can be imported twice with at most 300 MB of memory', async () => {
  const file = await writeSample(await executable(), 1_000_000, emptyFolder())
  for (const round of ['imported', 'imported again']) {
    const { seconds, peak } = await timedImport(await executable(), database.url, file)
    console.log(`1,000,000 ${round}: ${seconds.toFixed(0)} s, ${peak.toFixed(0)} MB`)
    expect(peak).toBeLessThan(300)
  }
})
