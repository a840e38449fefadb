import { expect, setDefaultTimeout, test } from 'bun:test'
import { Overload } from '../../src/http/overload.ts'
import { TEST_TIMEOUT_MS } from '../support/executable.ts'
import { bearer, LIST } from '../support/http.ts'
import { type Served, useServedWorld, whileBlocked } from '../support/served.ts'
import { until } from '../support/until.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const world = useServedWorld({ ADMIN_PORT: '0', MAX_REQUESTS: '3', DATABASE_POOL_SIZE: '2' })

const list = (served: Served, init?: RequestInit) =>
  fetch(served.url + LIST, { headers: bearer(world.token), ...init })

async function metric({ admin }: Served, name: string): Promise<number> {
  const text = await (await fetch(`${admin}/metrics`)).text()
  return Number(new RegExp(`^axport_${name} (\\S+)$`, 'm').exec(text)?.[1])
}

/** The status of an answer, and how many milliseconds it took. */
async function timed(ask: () => Promise<Response>): Promise<{ status: number; ms: number }> {
  const startedAt = performance.now()
  const { status } = await ask()
  return { status, ms: performance.now() - startedAt }
}

/** Runs `work` while three requests, which are as many as there may be, wait for the database. */
async function whileFull(served: Served, work: () => Promise<void>): Promise<void> {
  // Before a service knows whose token it is, its requests have another lane than later ones.
  expect((await list(served)).status).toBe(200)
  await until('no request is in work', async () => (await metric(served, 'requests_in_flight')) === 0)
  await whileBlocked(world.sql, async () => {
    const open = Array.from({ length: 3 }, () => list(served))
    await until('three are in work', async () => (await metric(served, 'requests_in_flight')) === 3)
    await work()
    void Promise.all(open).catch(() => {})
  })
}

test('a refusal for overload waits for a second, is not in work meanwhile, and its log line names the integration', async () => {
  const served = await world.serve()
  await whileFull(served, async () => {
    const refused = Array.from({ length: 5 }, () => timed(() => list(served)))
    await until('five are held', async () => (await metric(served, 'refusals_held')) === 5)
    expect(await metric(served, 'requests_in_flight')).toBe(3)
    for (const { status, ms } of await Promise.all(refused)) {
      expect(status).toBe(503)
      expect(ms).toBeGreaterThan(950)
    }
    expect(await metric(served, 'refusals_held')).toBe(0)
    expect(await metric(served, 'refusals_held_total')).toBe(5)
  })
  const ofOverload = served.log().filter(({ status }) => status === 503)
  expect(ofOverload).toHaveLength(5)
  for (const line of ofOverload)
    expect(line).toMatchObject({
      level: 30,
      client_id: world.credentials.clientId,
      refused: [expect.any(String)],
    })
  await served.end()
})

test('a client that hangs up does not stay among those that wait', async () => {
  const served = await world.serve()
  await whileFull(served, async () => {
    const client = new AbortController()
    const refused = Array.from({ length: 4 }, () => list(served, { signal: client.signal }).catch(() => {}))
    await until('four are held', async () => (await metric(served, 'refusals_held')) === 4)
    const startedAt = performance.now()
    client.abort()
    await Promise.all(refused)
    await until('none is held', async () => (await metric(served, 'refusals_held')) === 0)
    expect(performance.now() - startedAt).toBeLessThan(900)
  })
  await served.end()
})

test('a service that stops waits for no refusal', async () => {
  const served = await world.serve()
  await whileFull(served, async () => {
    const refused = Array.from({ length: 4 }, () => timed(() => list(served)))
    await until('four are held', async () => (await metric(served, 'refusals_held')) === 4)
    served.signal('SIGTERM')
    for (const { status, ms } of await Promise.all(refused)) expect([status, ms < 900]).toEqual([503, true])
  })
  await served.finished
})

test.each([
  ['404', '/nowhere', {}],
  ['405', '/oauth/token', { method: 'PUT' }],
  ['401', LIST, {}],
])('past MAX_REQUESTS errors in a second, a %s waits for a second', async (status, path, init) => {
  const served = await world.serve()
  const ask = () => timed(() => fetch(served.url + path, init))
  expect((await ask()).ms).toBeLessThan(900)
  const answers = await Promise.all(Array.from({ length: 20 }, ask))
  expect(new Set(answers.map(answer => String(answer.status)))).toEqual(new Set([status]))
  // A second of the clock may end in between.
  const slow = answers.filter(({ ms }) => ms > 950).length
  expect(slow).toBeWithin(20 - 2 * 3, 20)
  expect(await metric(served, 'refusals_held_total')).toBe(slow)
  await served.end()
})

test('of very many refusals, one more closes its connection', async () => {
  const overload = new Overload(1)
  const { signal } = new AbortController()
  const held = Array.from({ length: 5000 }, () => overload.hold(signal))
  expect(await overload.hold(signal)).toBe(false)
  expect(overload.held).toBe(5000)
  overload.stop()
  expect(new Set(await Promise.all(held))).toEqual(new Set([true]))
  expect(overload.held).toBe(0)
})
