import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type OwnCluster, startCluster } from '../support/cluster.ts'
import { axport, cleanUp, start, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { LIST, send } from '../support/http.ts'
import { isClosed } from '../support/served.ts'
import { until } from '../support/until.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

let cluster: OwnCluster
beforeAll(async () => {
  cluster = await startCluster()
  expect(
    (await axport(['migrate', '--time-zone', 'UTC'], { env: { DATABASE_URL: cluster.url() } })).code,
  ).toBe(0)
})
afterAll(async () => {
  await cleanUp()
  await cluster.stop()
})

const WAITING = /"reason":"nothing listens there".*"waiting for the database"/

/** Starts `axport serve` while the cluster is down, and returns when the process waits for it. */
async function startEarly() {
  await cluster.crash()
  const [port, adminPort] = [await freePort(), await freePort()]
  const env = { DATABASE_URL: cluster.url(), PORT: String(port), ADMIN_PORT: String(adminPort) }
  const running = await start(['serve'], { env })
  await running.shows(WAITING)
  const [url, admin] = [port, adminPort].map(port => `http://127.0.0.1:${port}`) as [string, string]
  const state = async (path: string) => {
    const answer = await fetch(admin + path)
    return { status: answer.status, body: await answer.text() }
  }
  return { ...running, url, state }
}

describe('serve that starts before its database', () => {
  test('is live but not ready while it waits, and serves when the database can be reached', async () => {
    const running = await startEarly()
    expect((await running.state('/live')).status).toBe(200)
    expect((await running.state('/metrics')).status).toBe(200)
    const { status, body } = await running.state('/ready')
    expect({ status, ...JSON.parse(body) }).toEqual({
      status: 503,
      ready: false,
      checks: [
        { check: 'service', status: 'wrong', detail: 'it is starting' },
        { check: 'database', status: 'wrong', detail: 'nothing listens there' },
      ],
    })
    expect(await isClosed(running.url)).toBe(true)

    await cluster.restart()
    await running.shows(/"msg":"listening"/)
    await until('it is ready', async () => (await running.state('/ready')).status === 200)
    expect((await send(running.url, LIST)).status).toBe(401)
    for (const line of ['waiting for the database', 'the database is there'])
      expect(running.stdout().split(line)).toHaveLength(2)
    running.signal('SIGTERM')
    expect(await running.finished).toMatchObject({ code: 0, stderr: '' })
  })

  test('exits with one line after 30 seconds', async () => {
    const running = await startEarly()
    expect(await running.finished).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^axport: cannot reach the database: nothing listens there: .*\n$/),
    })
  })

  test('exits with 0 at a signal', async () => {
    const running = await startEarly()
    running.signal('SIGTERM')
    expect(await running.finished).toMatchObject({ code: 0, stderr: '' })
    expect(running.stdout()).toMatch(/"signal":"SIGTERM","msg":"stopping"/)
  })
})
