import { expect, setDefaultTimeout, test } from 'bun:test'
import { requires } from '../support/requires.ts'
import { useServedWorld } from '../support/served.ts'
import { until } from '../support/until.ts'
import { HAPROXY, startHaproxy } from './support/haproxy.ts'

setDefaultTimeout(120_000)

requires(HAPROXY).describe('behind HAProxy, which asks /ready as it does by default', () => {
  const world = useServedWorld({ ADMIN_PORT: '0', SHUTDOWN_DELAY: '1' })

  test('both services are up, and one that is ended is left out without a failed request', async () => {
    const services = [await world.serve(), await world.serve()]
    const proxy = await startHaproxy(services)
    try {
      await until('both are up', async () => (await proxy.states()).join() === 'UP,UP')
      const statuses = new Set<number>()
      let isOver = false
      const walking = (async () => {
        while (!isOver) statuses.add((await world.list(proxy)).status)
      })()
      await services[0]?.end()
      await until('one is down', async () => (await proxy.states()).join() === 'DOWN,UP')
      isOver = true
      await walking
      expect(statuses).toEqual(new Set([200]))
      await services[1]?.end()
    } finally {
      await proxy.stop()
    }
  })
})
