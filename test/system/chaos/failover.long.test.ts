// The database's address leads to another cluster, with an older state of the data.
import { beforeAll, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { trial } from './support/trial.ts'
import { truthOf } from './support/truth.ts'
import { copyIntegrations, useWorld } from './support/world.ts'

const password = randomBytes(16).toString('hex')
const world = useWorld({ password })
const older = useWorld({ password, assessments: 2700 })

beforeAll(async () => {
  await copyIntegrations(world, older)
  older.truth = truthOf(older.platform, world.scope)
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
