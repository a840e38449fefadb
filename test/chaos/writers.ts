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
  const stopWriters = await startWriters(world)
  await trial(
    world,
    { logLines: { least: 4, most: 30 } },
    async ({ proxy, untilDown, untilServed, recovers }) => {
      await untilServed(100)
      await world.victim.kill()
      await untilDown()
      await world.victim.start()
      await recovers()
      await untilServed(100)
      await world.victim.cutConnections()
      await untilServed(100)
      proxy.become({ is: 'cutting', after: () => Math.floor(Math.random() * 200_000) })
      await untilServed(100)
      proxy.become({ is: 'fair' })
      await world.victim.shutDown()
      await untilDown()
      await world.victim.start()
      await recovers()
      const written = await stopWriters()
      console.log(`  ${JSON.stringify(written)}`)
      for (const times of Object.values(written)) expect(times).toBeGreaterThan(2)
    },
  )
  expect(await staleRecords(world.victim.sql)).toEqual([])
})
