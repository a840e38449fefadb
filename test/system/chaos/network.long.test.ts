// The network between service and database is slow, cut, silent and closed.
import { expect, test } from 'bun:test'
import { freePort } from '../../support/free-port.ts'
import { randomBelow } from '../../support/tier.ts'
import { trial } from './support/trial.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

const ONE_OUTAGE = { least: 2, most: 6 }

test('a slow network makes slow answers and no errors', async () => {
  await trial(world, { logLines: { least: 0, most: 2 } }, async ({ proxy, load, watch, untilServed }) => {
    proxy.become({ is: 'slow', milliseconds: 100 })
    await untilServed(100)
    await watch.ready()
    expect([...load.seen.keys()].filter(what => !what.endsWith(' 200'))).toEqual([])
    proxy.become({ is: 'fair' })
  })
})

test('connections that are cut in the middle of an answer cost a repeated request at most', async () => {
  await trial(world, { logLines: { least: 0, most: 40 } }, async ({ proxy, untilServed, recovers }) => {
    proxy.become({ is: 'cutting', after: () => randomBelow(200_000) })
    await untilServed(300)
    proxy.become({ is: 'fair' })
    await recovers()
  })
})

test('connections that are cut at once, so that nothing can be had, are an outage', async () => {
  await trial(world, { logLines: ONE_OUTAGE }, async ({ proxy, untilDown, recovers }) => {
    proxy.become({ is: 'cutting', after: () => randomBelow(40) })
    await untilDown()
    await Bun.sleep(2000)
    proxy.become({ is: 'fair' })
    await recovers()
  })
})

test('a network that swallows everything is noticed, and its dead connections are not waited for after', async () => {
  await trial(world, { logLines: ONE_OUTAGE }, async ({ proxy, untilDown, recovers }) => {
    proxy.become({ is: 'silent' })
    await untilDown()
    await Bun.sleep(3000)
    proxy.become({ is: 'fair' })
    await recovers()
  })
})

test('with the bounds as they are by default, silence is noticed as well, and recovered from as fast', async () => {
  const env = { DATABASE_WAIT: '5', STATEMENT_TIMEOUT: '10' }
  await trial(
    world,
    { env, longest: 33_000, logLines: ONE_OUTAGE },
    async ({ proxy, untilDown, recovers }) => {
      proxy.become({ is: 'silent' })
      await untilDown()
      proxy.become({ is: 'fair' })
      await recovers()
    },
  )
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

test('a balancer that closes every connection at once is an outage, and no busy loop', async () => {
  await trial(world, { logLines: ONE_OUTAGE }, async ({ proxy, untilDown, recovers }) => {
    proxy.become({ is: 'closing' })
    await untilDown()
    const tried = proxy.accepted
    await Bun.sleep(3000)
    // Requests and /ready may try, but not as fast as the machine can.
    expect((proxy.accepted - tried) / 3).toBeLessThan(50)
    proxy.become({ is: 'fair' })
    await recovers()
  })
})

test('a port where nobody listens is an outage until somebody does', async () => {
  await trial(world, { logLines: ONE_OUTAGE }, async ({ proxy, untilDown, recovers }) => {
    proxy.redirect(await freePort())
    await untilDown()
    await Bun.sleep(2000)
    proxy.redirect(world.victim.port)
    await recovers()
  })
})
