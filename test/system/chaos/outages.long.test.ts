// The database is stopped, killed, frozen and cut off.
import { expect, test } from 'bun:test'
import { randomBelow } from '../../support/tier.ts'
import { type Trial, trial } from './support/trial.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** Lost and found again, with what a change of the reason in between adds. */
const ONE_OUTAGE = { least: 2, most: 6 }

/** How long an outage lasts after the service has noticed, milliseconds. */
const LENGTH_MS = 1000

type Act = (trial: Trial) => unknown

const fair: Act = ({ proxy }) => proxy.become({ is: 'fair' })
const start = () => world.victim.start()

const OUTAGES: { what: string; workers: number; away: Act; back: Act }[] = [
  { what: 'is shut down', workers: 1, away: () => world.victim.shutDown(), back: start },
  { what: 'is killed with -9 as a whole', workers: 1, away: () => world.victim.kill(), back: start },
  { what: 'of two workers is killed with -9', workers: 2, away: () => world.victim.kill(), back: start },
  { what: 'is frozen', workers: 1, away: () => world.victim.freeze(), back: () => world.victim.thaw() },
  {
    what: 'cuts every connection before its first answer',
    workers: 1,
    away: ({ proxy }) => proxy.become({ is: 'cutting', after: () => randomBelow(40) }),
    back: fair,
  },
]

test.each(OUTAGES)(
  'a database that $what is refused for without a busy loop, and is back within 2 s',
  async outage => {
    const { workers, away, back } = outage
    await trial(world, { workers, logLines: ONE_OUTAGE }, async trial => {
      await away(trial)
      await trial.untilDown()
      const tried = trial.proxy.accepted
      await Bun.sleep(LENGTH_MS)
      // Requests and /ready may try, but not as fast as the machine can.
      expect((trial.proxy.accepted - tried) / workers).toBeLessThan(50)
      await back(trial)
      await trial.recovers()
    })
  },
)

test('a silent network is noticed within the default bounds, and its dead connections are not waited for', async () => {
  const options = {
    env: { DATABASE_WAIT: '5', STATEMENT_TIMEOUT: '10' },
    longest: 33_000,
    logLines: ONE_OUTAGE,
  }
  await trial(world, options, async ({ proxy, untilDown, recovers }) => {
    proxy.become({ is: 'silent' })
    await untilDown()
    proxy.become({ is: 'fair' })
    await recovers()
  })
})

test('a network that was silent for a moment, and forgot all connections, is not waited for', async () => {
  await trial(world, { logLines: { least: 0, most: 6 } }, async ({ proxy, untilServed, recovers }) => {
    // Long enough for every connection to be in use once, and too short for anybody to look into it.
    proxy.become({ is: 'silent' })
    await Bun.sleep(150)
    proxy.become({ is: 'fair' })
    await recovers()
    await untilServed(50)
  })
})

test('a slow network makes slow answers and no errors', async () => {
  await trial(world, { logLines: { least: 0, most: 2 } }, async ({ proxy, load, watch, untilServed }) => {
    proxy.become({ is: 'slow', milliseconds: 100 })
    await untilServed(40)
    await watch.ready()
    expect([...load.seen.keys()].filter(what => !what.endsWith(' 200'))).toEqual([])
    proxy.become({ is: 'fair' })
  })
})

test('a backend that is killed with -9 costs the time of the recovery of Postgres and no more', async () => {
  await trial(world, { logLines: { least: 0, most: 12 } }, async ({ untilServed, recovers }) => {
    for (let round = 0; round < 2; round++) {
      await world.victim.crashBackend()
      await recovers()
      await untilServed(50)
    }
  })
})
