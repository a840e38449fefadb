// The service is told to end while its database is away: bun run test:chaos
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cleanUp } from '../support/executable.ts'
import { Load } from './support/load.ts'
import { FlakyProxy } from './support/proxy.ts'
import { LONGEST_MS, startService } from './support/service.ts'
import { makeWorld, type World } from './support/world.ts'

setDefaultTimeout(10 * 60_000)

let world: World

beforeAll(async () => {
  world = await makeWorld()
})
afterAll(async () => {
  await cleanUp()
  await world?.victim.stop()
})

test.each([1, 2])(
  '%i process(es) told to end during an outage end in time, and cut nobody',
  async workers => {
    for (const weather of ['silent', 'closing', 'fair'] as const) {
      const proxy = await FlakyProxy.start(world.victim.port)
      const url = new URL(world.url)
      url.port = String(proxy.port)
      const service = await startService(url.href, { workers, env: { SHUTDOWN_TIMEOUT: '12' } })
      const load = new Load(service.url, world.credentials, world.truth, {
        refusedConnections: true,
        longest: LONGEST_MS,
      })
      try {
        load.start(6)
        while (load.count('list', 200) < 50) await Bun.sleep(10)
        proxy.become({ is: weather })
        await Bun.sleep(100)
        const told = performance.now()
        service.signal('SIGTERM')
        const { code, stderr } = await service.finished
        const took = performance.now() - told
        await load.stop()
        expect([weather, code, stderr, load.report()]).toEqual([weather, 0, '', []])
        expect(took).toBeLessThan(12_000 + 2000)
        console.log(`  ${weather}: ended after ${Math.round(took)} ms; ${load.summary()}`)
      } finally {
        await load.stop()
        service.signal('SIGKILL')
        await proxy.stop()
      }
    }
  },
)
