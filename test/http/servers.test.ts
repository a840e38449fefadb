import { expect, setDefaultTimeout, test } from 'bun:test'
import type { Readiness } from '../../src/http/admin/readiness.ts'
import { TEST_TIMEOUT_MS } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { useServedWorld } from '../support/served.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const world = useServedWorld({ ADMIN_PORT: '0' })

test('serve starts while a standby is down: the primary is read from, and /ready and /metrics report the standby', async () => {
  const away = `127.0.0.1:${await freePort()}`
  const served = await world.serve([], { DATABASE_READ_URL: `postgres://u:S3cretPassw0rd@${away}/d` })
  expect((await world.list(served)).status).toBe(200)
  const answer = await fetch(`${served.admin}/ready`)
  expect([answer.status, ((await answer.json()) as Readiness).servers]).toEqual([
    200,
    [
      { server: away, serves: false, why: 'nothing listens there' },
      { server: 'primary', serves: true },
    ],
  ])
  const metrics = await (await fetch(`${served.admin}/metrics`)).text()
  expect(metrics).toContain(`axport_server_serves{server="${away}"} 0\n`)
  expect(metrics).toContain('axport_reads_total{server="primary"} 1\n')
  expect(metrics).not.toContain('axport_standby_lag_seconds{')
  expect(served.stdout()).toContain(`"standby":"${away}","reason":"nothing listens there"`)
  expect(served.stdout()).not.toContain('S3cretPassw0rd')
  await served.end()
})

test('without standbys, /ready and /metrics list no servers for reads', async () => {
  const served = await world.serve()
  const { servers } = (await (await fetch(`${served.admin}/ready`)).json()) as Readiness
  expect(servers).toBeUndefined()
  expect(await (await fetch(`${served.admin}/metrics`)).text()).not.toMatch(/axport_(reads|server|standby)_/)
  await served.end()
})
