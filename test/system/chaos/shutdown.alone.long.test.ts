// The service gets SIGTERM while its database cannot be reached.
import { expect, test } from 'bun:test'
import { FlakyProxy } from '../../support/flaky-proxy.ts'
import { until } from '../../support/until.ts'
import { Load } from './support/load.ts'
import { LONGEST_MS, startService } from './support/service.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

test('a process that gets SIGTERM during an outage exits within seven seconds, and answers every open request', async () => {
  const endIn = async (network: 'silent' | 'closing' | 'normal') => {
    const proxy = await FlakyProxy.start(world.url)
    const service = await startService(proxy.url)
    const load = new Load(service.url, world.credentials, world.truth, { longest: LONGEST_MS })
    try {
      await load.start(6)
      await until('50 pages are served', () => load.count('list', 200) >= 50, 60_000)
      proxy.setNetwork({ is: network })
      // The pause lets requests get stuck in the network.
      await Bun.sleep(100)
      const signalledAt = performance.now()
      // No new request is sent: the system would reset a connection that the service has not accepted before it
      // closes.
      const answered = load.stop()
      service.signal('SIGTERM')
      const { code, stderr } = await service.finished
      const took = performance.now() - signalledAt
      await answered
      expect([network, code, stderr, load.faults.report()]).toEqual([network, 0, '', []])
      expect(took).toBeLessThan(7000 + 2000)
    } finally {
      await load.stop()
      service.signal('SIGKILL')
      await proxy.stop()
    }
  }
  await Promise.all([endIn('silent'), endIn('closing'), endIn('normal')])
})
