import { expect, setDefaultTimeout, test } from 'bun:test'
import { SlowRefusals } from '../../src/app/slow-refusals.ts'
import { TEST_TIMEOUT_MS } from '../support/executable.ts'
import { ORGANIZATION, PRODUCT } from '../support/fixtures.ts'
import { bearer, LIST, newToken } from '../support/http.ts'
import { provision } from '../support/operator.ts'
import { type Served, useServedWorld, whileBlocked } from '../support/served.ts'
import { until } from '../support/until.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

/** Of six requests, one integration alone may have three, and of three connections one. */
const world = useServedWorld({ ADMIN_PORT: '0', MAX_REQUESTS: '6', DATABASE_POOL_SIZE: '3' })

/** More than the 100 refusals of a second that are sent at once, and less than the 256 requests that Bun sends at a time. */
const MANY = 240

/** How many of them are delayed at least: a second of the clock may end in between. */
const DELAYED = MANY - 2 * 100

const list = (served: Served, token = world.token) => fetch(served.url + LIST, { headers: bearer(token) })

async function metric({ admin }: Served, name: string): Promise<number> {
  const text = await (await fetch(`${admin}/metrics`)).text()
  return Number(new RegExp(`^axport_${name} (\\S+)$`, 'm').exec(text)?.[1])
}

/** The status of an answer, and how many milliseconds it took. */
async function timed(ask: () => Promise<Response>): Promise<{ status: number; ms: number }> {
  const startedAt = performance.now()
  const answer = await ask()
  await answer.arrayBuffer()
  return { status: answer.status, ms: performance.now() - startedAt }
}

const many = (count: number, ask: () => Promise<Response>) =>
  Promise.all(Array.from({ length: count }, () => timed(ask)))

/** Runs `work` while three requests of the integration, which are its share, wait for the database. */
async function whileFull(served: Served, work: () => Promise<void>): Promise<void> {
  // Before a service has seen a token, its requests are counted with those of other unknown tokens.
  expect((await list(served)).status).toBe(200)
  await until('no request is in work', async () => (await metric(served, 'requests_in_flight')) === 0)
  await whileBlocked(world.sql, async () => {
    const open = Array.from({ length: 3 }, () => list(served))
    await until('three are in work', async () => (await metric(served, 'requests_in_flight')) === 3)
    await work()
    void Promise.all(open).catch(() => {})
  })
}

test('an integration with its share of MAX_REQUESTS in work gets 503, and its log line says why', async () => {
  const served = await world.serve()
  await whileFull(served, async () => {
    for (const { status, ms } of await many(5, () => list(served)))
      expect([status, ms < 900]).toEqual([503, true])
  })
  const refused = () => served.log().filter(({ status }) => status === 503)
  await until('the log has all five', () => refused().length === 5)
  for (const line of refused())
    expect(line).toMatchObject({
      level: 30,
      client_id: world.credentials.clientId,
      refused: [expect.stringContaining('MAX_REQUESTS')],
    })
  expect(await metric(served, 'database_errors_total')).toBe(0)
  await served.end()
})

test('an integration with its share in work leaves room for tokens and for another integration', async () => {
  const served = await world.serve()
  const other = await newToken(
    served.url,
    await provision(world.sql, [String(ORGANIZATION)], [String(PRODUCT)]),
  )
  expect((await fetch(`${served.url}${LIST}/1`, { headers: bearer(other) })).status).toBe(404)
  await whileFull(served, async () => {
    const more = many(10, () => list(served))
    await newToken(served.url, world.credentials)
    const record = await fetch(`${served.url}${LIST}?page=x`, { headers: bearer(other) })
    expect(record.status).toBe(400)
    for (const { status } of await more) expect(status).toBe(503)
  })
  await served.end()
})

test('requests with tokens that the process has not seen leave connections to integrations', async () => {
  const served = await world.serve()
  expect((await list(served)).status).toBe(200)
  const unseen = await Promise.all([1, 2, 3].map(() => newToken(served.url, world.credentials)))
  await whileBlocked(world.sql, async waiting => {
    // Each asks for another list: of one list, others wait for its first count.
    const open = unseen.map((token, at) =>
      fetch(`${served.url}${LIST}?filter[user_ids][]=${at}`, { headers: bearer(token) }),
    )
    await waiting(1)
    await until('two wait for a connection', async () => (await metric(served, 'database_waiting')) === 2)
    const known = await fetch(`${served.url}${LIST}?page=x`, { headers: bearer(world.token) })
    expect(known.status).toBe(400)
    void Promise.all(open).catch(() => {})
  })
  await served.end()
})

test.each([
  ['404', '/nowhere', {}],
  ['405', '/oauth/token', { method: 'PUT' }],
  ['401', LIST, {}],
])('of very many refusals in a second, %s, most are sent after a second', async (status, path, init) => {
  const served = await world.serve()
  const ask = () => fetch(served.url + path, init)
  expect((await timed(ask)).ms).toBeLessThan(900)
  const answers = await many(MANY, ask)
  expect(new Set(answers.map(answer => String(answer.status)))).toEqual(new Set([status]))
  const slow = await metric(served, 'refusals_delayed_total')
  expect(slow).toBeWithin(DELAYED, MANY)
  expect(answers.filter(({ ms }) => ms > 990).length).toBeGreaterThanOrEqual(slow)
  // The delay is no time that the service worked on a request.
  for (const line of served.log().filter(({ msg }) => msg === 'request')) expect(line.slow).toBeUndefined()
  await served.end()
})

test('a refusal for overload is delayed as any other, and not in work meanwhile', async () => {
  const served = await world.serve()
  await whileFull(served, async () => {
    const refused = many(MANY, () => list(served))
    await until('many are delayed', async () => (await metric(served, 'refusals_delayed_total')) >= DELAYED)
    expect(await metric(served, 'requests_in_flight')).toBe(3)
    const answers = await refused
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]))
    expect(answers.filter(({ ms }) => ms > 990).length).toBeGreaterThanOrEqual(DELAYED)
  })
  await served.end()
})

test('a service that stops sends delayed refusals at once', async () => {
  const served = await world.serve()
  const answers = many(MANY, () => fetch(`${served.url}/nowhere`))
  await until('many are delayed', async () => (await metric(served, 'refusals_delayed_total')) >= DELAYED)
  const startedAt = performance.now()
  await served.end()
  expect(performance.now() - startedAt).toBeLessThan(900)
  expect(new Set((await answers).map(({ status }) => status))).toEqual(new Set([404]))
})

test('a client that hangs up leaves nothing behind', async () => {
  const refusals = new SlowRefusals()
  const client = new AbortController()
  const delays = Array.from({ length: 3 }, () => refusals.delay(client.signal))
  expect(refusals.delayed).toBe(3)
  client.abort()
  await Promise.all(delays)
  expect(refusals.delayed).toBe(0)
})
