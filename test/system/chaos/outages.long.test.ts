// The database is stopped, killed, frozen, starved, locked and read-only.
import { expect, test } from 'bun:test'
import { until } from '../../support/until.ts'
import { trial } from './support/trial.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** Lost and found again, with what a change of the reason in between adds. */
const ONE_OUTAGE = { least: 2, most: 6 }

test('a database that is shut down and started again is back within 2 s, three times in a row', async () => {
  await trial(world, { logLines: { least: 6, most: 14 } }, async ({ untilDown, untilServed, recovers }) => {
    for (let round = 0; round < 3; round++) {
      await world.victim.shutDown()
      await untilDown()
      await Bun.sleep(1000)
      await world.victim.start()
      await recovers()
      await untilServed(50)
    }
  })
})

test('a database that is killed with -9, all of it, is back within 2 s of its start', async () => {
  await trial(world, { logLines: ONE_OUTAGE }, async ({ untilDown, recovers }) => {
    await world.victim.kill()
    await untilDown()
    await Bun.sleep(4000)
    await world.victim.start()
    await recovers()
  })
})

test('a backend that is killed with -9 costs the time of the recovery of Postgres and no more', async () => {
  await trial(world, { logLines: { least: 0, most: 18 } }, async ({ untilServed, recovers }) => {
    for (let round = 0; round < 3; round++) {
      await world.victim.crashBackend()
      await recovers()
      await untilServed(50)
    }
  })
})

test('a database that is frozen is refused for, and is back as soon as it goes on', async () => {
  await trial(world, { logLines: ONE_OUTAGE }, async ({ untilDown, recovers }) => {
    await world.victim.freeze()
    await untilDown()
    await Bun.sleep(2000)
    world.victim.thaw()
    await recovers()
  })
})

test('a database without a free connection is refused for until there is one', async () => {
  await trial(world, { logLines: ONE_OUTAGE }, async ({ untilDown, recovers }) => {
    await world.victim.starve(world.url)
    await untilDown()
    await Bun.sleep(2000)
    await world.victim.release()
    await recovers()
  })
})

test('connections that are terminated again and again are replaced', async () => {
  await trial(world, { logLines: { least: 0, most: 12 } }, async ({ untilServed, recovers }) => {
    for (let round = 0; round < 20; round++) {
      await world.victim.cutConnections()
      await untilServed(10)
    }
    await recovers()
  })
})

test('a database that is read-only goes on to be read, and gives no token until it is written to again', async () => {
  await trial(world, { logLines: { least: 0, most: 6 } }, async ({ load, untilServed, recovers }) => {
    await world.victim.set('default_transaction_read_only', 'on')
    await until('a token is refused', () => load.count('token', 503) > 0)
    const before = load.count('list', 503)
    await untilServed(200)
    expect(load.count('list', 503)).toBe(before)
    await world.victim.set('default_transaction_read_only', null)
    await recovers()
  })
})

test('a statement that is held up ends in 504, and leaves nothing behind', async () => {
  await trial(world, { logLines: { least: 0, most: 6 } }, async ({ load, recovers }) => {
    const release = await world.victim.lockRecords()
    await until('a page takes too long', () => load.count('list', 504) > 0)
    await release()
    await recovers()
  })
})
