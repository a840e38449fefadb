// The service is told to end while its database is away.
import { expect, test } from 'bun:test'
import { FlakyProxy } from '../../support/flaky-proxy.ts'
import { until } from '../../support/until.ts'
import { Load } from './support/load.ts'
import { LONGEST_MS, startService } from './support/service.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

test.each([1, 2])(
  '%i process(es) told to end during an outage end in time, and cut nobody',
  async workers => {
    const endIn = async (weather: 'silent' | 'closing' | 'fair') => {
      const proxy = await FlakyProxy.start(world.url)
      const service = await startService(proxy.url, { workers, env: { SHUTDOWN_TIMEOUT: '12' } })
      const load = new Load(service.url, world.credentials, world.truth, { longest: LONGEST_MS })
      try {
        load.start(6)
        await until('50 pages are served', () => load.count('list', 200) >= 50)
        proxy.become({ is: weather })
        // Until requests are stuck in it.
        await Bun.sleep(100)
        const told = performance.now()
        // From now on nothing is asked: the system cuts a connection that is still being made, and nobody else does.
        const answered = load.stop()
        service.signal('SIGTERM')
        const { code, stderr } = await service.finished
        const took = performance.now() - told
        await answered
        expect([weather, code, stderr, load.faults.report()]).toEqual([weather, 0, '', []])
        expect(took).toBeLessThan(12_000 + 2000)
      } finally {
        await load.stop()
        service.signal('SIGKILL')
        await proxy.stop()
      }
    }
    await Promise.all([endIn('silent'), endIn('closing'), endIn('fair')])
  },
)
