// The database is taken away while the data are written: bun run test:chaos
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cleanUp } from '../support/executable.ts'
import { staleRecords } from '../support/import.ts'
import { movingTruth } from './support/moving-truth.ts'
import { trial } from './support/trial.ts'
import { makeWorld, type World } from './support/world.ts'
import { ADDED, startWriters } from './support/writers.ts'

setDefaultTimeout(10 * 60_000)

let world: World

beforeAll(async () => {
  world = await makeWorld({ assessments: 1000 })
  world.truth = movingTruth(world.truth, ADDED)
})
afterAll(async () => {
  await cleanUp()
  await world?.victim.stop()
})

test('under writers and outages, no record that stays is lost, doubled or half new', async () => {
  const writers = await startWriters(world)
  const untilWritten = async () => {
    const before = { ...writers.written }
    const isBehind = (what: keyof typeof before) => writers.written[what] < before[what] + 3
    while ((['renamings', 'imports', 'rotations'] as const).some(isBehind)) await Bun.sleep(20)
  }
  await trial(world, { logLines: { least: 4, most: 30 } }, async ({ proxy, untilDown, recovers }) => {
    await untilWritten()
    await world.victim.kill()
    await untilDown()
    await world.victim.start()
    await recovers()
    await untilWritten()
    await world.victim.cutConnections()
    await untilWritten()
    proxy.become({ is: 'cutting', after: () => Math.floor(Math.random() * 200_000) })
    await untilWritten()
    proxy.become({ is: 'fair' })
    await world.victim.shutDown()
    await untilDown()
    await world.victim.start()
    await recovers()
    await untilWritten()
  }).finally(writers.stop)
  expect(await world.victim.ask(staleRecords)).toEqual([])
})
