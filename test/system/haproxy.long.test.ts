import { expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { selfSigned } from '../support/certificate.ts'
import { startCluster } from '../support/cluster.ts'
import { encryptCluster } from '../support/encrypt-cluster.ts'
import { cleanUp, emptyFolder } from '../support/executable.ts'
import { get, LIST } from '../support/http.ts'
import { fill } from '../support/outage.ts'
import { requires } from '../support/requires.ts'
import { serveWith, useServedWorld } from '../support/served.ts'
import { until } from '../support/until.ts'
import { HAPROXY, startHaproxy, startHaproxyByName } from './support/haproxy.ts'

setDefaultTimeout(120_000)

requires(HAPROXY).describe('HAProxy with its default health checks of /ready', () => {
  const world = useServedWorld({ ADMIN_PORT: '0', SHUTDOWN_DELAY: '1' })

  test('uses both services, and stops using one that shuts down before any request fails', async () => {
    const services = [await world.serve(), await world.serve()]
    const proxy = await startHaproxy(services)
    try {
      await until(
        'HAProxy reports both services as up',
        async () => (await proxy.states()).join() === 'UP,UP',
      )
      const statuses = new Set<number>()
      let isOver = false
      const walking = (async () => {
        while (!isOver) statuses.add((await world.list(proxy)).status)
      })()
      await services[0]?.end()
      await until(
        'HAProxy reports the first service as down',
        async () => (await proxy.states()).join() === 'DOWN,UP',
      )
      isOver = true
      await walking
      expect(statuses).toEqual(new Set([200]))
      await services[1]?.end()
    } finally {
      await proxy.stop()
    }
  })
})

requires(HAPROXY).test(
  'a service connects to a Postgres behind an HAProxy that chooses the server by its TLS name (SNI)',
  async () => {
    const own = await startCluster()
    const pair = selfSigned('database')
    await encryptCluster(own, pair)
    const { token } = await fill(own.url())
    const proxy = await startHaproxyByName('localhost', Number(new URL(own.url()).port))
    const authority = join(emptyFolder(), 'root.crt')
    writeFileSync(authority, pair.cert)
    const url = own.url().replace(/@[^/]+/, `@localhost:${proxy.port}`)
    const parameters = `sslmode=verify-full&sslrootcert=${authority}&sslnegotiation=direct`
    const service = await serveWith([], { DATABASE_URL: `${url}?${parameters}` })
    expect((await get(service.url, token, LIST)).status).toBe(200)
    await service.end()
    await cleanUp()
    await proxy.stop()
    await own.stop()
  },
)
