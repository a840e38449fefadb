// The database's address leads to another cluster, with an older state of the data: bun run test:chaos
import { afterAll, beforeAll, setDefaultTimeout, test } from 'bun:test'
import { cleanUp } from '../support/executable.ts'
import { trial } from './support/trial.ts'
import { truthOf } from './support/truth.ts'
import { copyIntegrations, makeWorld, type World } from './support/world.ts'

setDefaultTimeout(10 * 60_000)

let world: World
let older: World

beforeAll(async () => {
  world = await makeWorld()
  older = await makeWorld({ assessments: 2700, password: new URL(world.url).password })
  await copyIntegrations(world, older)
  older.truth = await older.victim.ask(sql => truthOf(sql, world.scope))
})
afterAll(async () => {
  await cleanUp()
  await world?.victim.stop()
  await older?.victim.stop()
})

const options = { lostTokens: true, logLines: { least: 0, most: 10 } }

test('after a failover to an older state of the data, that state alone is answered', async () => {
  await trial(world, options, async ({ proxy, load, untilServed, recovers }) => {
    const settled = load.change(older.truth)
    proxy.redirect(older.victim.port)
    settled()
    await recovers()
    await untilServed(100)
    const back = load.change(world.truth)
    proxy.redirect(world.victim.port)
    back()
    await recovers()
  })
})

test('after a failover from a database that was killed, the other one is answered from', async () => {
  await trial(world, options, async ({ proxy, load, untilDown, untilServed, recovers }) => {
    await world.victim.kill()
    await untilDown()
    const settled = load.change(older.truth)
    proxy.redirect(older.victim.port)
    settled()
    await recovers()
    await untilServed(100)
    await world.victim.start()
    const back = load.change(world.truth)
    proxy.redirect(world.victim.port)
    back()
    await recovers()
  })
})
