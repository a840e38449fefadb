// The database is shut down, killed, suspended and disconnected.
import { expect, test } from 'bun:test'
import { randomBelow } from '../../support/tier.ts'
import { type Trial, trial } from './support/trial.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

/** Log lines of one outage: lost and reached again, and one for each change of the reason between. */
const ONE_OUTAGE = { least: 2, most: 6 }

/** Milliseconds for which an outage continues after the service has noticed it. */
const LENGTH_MS = 500

type Act = (trial: Trial) => unknown

const normal: Act = ({ proxy }) => proxy.setNetwork({ is: 'normal' })
const start = () => world.postgres.start()

const OUTAGES: { what: string; away: Act; back: Act }[] = [
  { what: 'is shut down', away: () => world.postgres.shutDown(), back: start },
  { what: 'is killed with all its processes', away: () => world.postgres.kill(), back: start },
  { what: 'is frozen', away: () => world.postgres.freeze(), back: () => world.postgres.thaw() },
  {
    what: 'cuts every connection before its first answer',
    away: ({ proxy }) => proxy.setNetwork({ is: 'cutting', after: () => randomBelow(40) }),
    back: normal,
  },
]

test.each(OUTAGES)(
  'while a database $what, requests get 503 without a busy loop, and 200 after its return',
  async outage => {
    const { away, back } = outage
    await trial(world, { logLines: ONE_OUTAGE }, async trial => {
      await away(trial)
      await trial.untilDown()
      const tried = trial.proxy.accepted
      await Bun.sleep(LENGTH_MS)
      // Requests and /ready may try to connect, but not as fast as the machine can.
      expect(trial.proxy.accepted - tried).toBeLessThan(25)
      await back(trial)
      await trial.recovers()
    })
  },
)

test('a network that drops all packets becomes a 503 within the default limits, and no request waits for its dead connections afterwards', async () => {
  const options = {
    env: { STATEMENT_TIMEOUT: '10' },
    longest: 33_000,
    logLines: ONE_OUTAGE,
  }
  await trial(world, options, async ({ proxy, untilDown, recovers }) => {
    proxy.setNetwork({ is: 'silent' })
    await untilDown()
    proxy.setNetwork({ is: 'normal' })
    await recovers()
  })
})

test('after a network has lost all connections silently within 150 ms, no request waits for them', async () => {
  await trial(world, { logLines: { least: 0, most: 6 } }, async ({ proxy, untilServed, recovers }) => {
    // Long enough for every connection to be used once, and too short for a check of unresponsive connections.
    proxy.setNetwork({ is: 'silent' })
    await Bun.sleep(150)
    proxy.setNetwork({ is: 'normal' })
    await recovers()
    await untilServed(50)
  })
})

test('a slow network causes slow answers and no errors', async () => {
  await trial(world, { logLines: { least: 0, most: 2 } }, async ({ proxy, load, probe, untilServed }) => {
    proxy.setNetwork({ is: 'slow', milliseconds: 100 })
    await untilServed(20)
    await probe.ready()
    expect([...load.seen.keys()].filter(what => !what.endsWith(' 200'))).toEqual([])
    proxy.setNetwork({ is: 'normal' })
  })
})

test('after SIGKILL of one backend, the service is available as soon as Postgres has recovered', async () => {
  await trial(world, { logLines: { least: 0, most: 12 } }, async ({ untilServed, recovers }) => {
    for (let round = 0; round < 2; round++) {
      await world.postgres.crashBackend()
      await recovers()
      await untilServed(50)
    }
  })
})
