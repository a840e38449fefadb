import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { FeedView } from '../../src/http/admin/feed-view.ts'
import { lastHour, Minutes } from '../../src/http/admin/minutes.ts'
import { statusPage } from '../../src/http/admin/page.ts'
import { startCluster } from '../support/cluster.ts'
import { axport, start, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { bearer, LIST, send } from '../support/http.ts'
import { type Served, useServedWorld } from '../support/served.ts'
import { until } from '../support/until.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const world = useServedWorld({ ADMIN_PORT: '0' })

/** The text of the page, without its style. */
async function page({ admin }: Pick<Served, 'admin'>): Promise<string> {
  const answer = await fetch(`${admin}/`)
  expect(answer.status).toBe(200)
  return textOf(await answer.text())
}

const textOf = (html: string) =>
  html
    .replace(/<style>[\s\S]*<\/style>/, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')

describe('the page of the operator’s port', () => {
  test('shows health, requests, data and process, and nothing of integrations or people', async () => {
    const running = await world.serve()
    expect((await world.list(running)).status).toBe(200)
    expect((await send(running.url, LIST)).status).toBe(401)
    await until('both requests are counted', async () => (await page(running)).includes('1 refused (4xx)'))
    const text = await page(running)
    for (const part of [
      /^ Ready · axport Ready axport, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC Health service ok /,
      / database ok schema ok writable ok locks ok /,
      / 1 answered 1 refused \(4xx\) 0 failed \(5xx\) /,
      / Data schema \d{4}_\w+ last import \d+ s ago version of the data [\d,]+ disclosures off oldest secret \d+ s ago /,
      / version \S+, \S+ requests /,
      / connections \d+ of \d+ in use, \d+ idle; statements that wait for one: \d+ memory \d+ MB /,
    ])
      expect(text).toMatch(part)
    expect(text).toContain(` of ${10} in use`)
    const html = await (await fetch(`${running.admin}/`)).text()
    const { clientId, clientSecret } = world.credentials
    for (const secret of [clientId, clientSecret, world.token]) expect(html).not.toContain(secret)
    await running.end()
  })

  test('loads and runs nothing: its policy allows its own style alone', async () => {
    const running = await world.serve()
    const answer = await fetch(`${running.admin}/`)
    const html = await answer.text()
    const style = /<style>([\s\S]*)<\/style>/.exec(html)?.[1] ?? ''
    const hash = new Bun.CryptoHasher('sha256').update(style).digest('base64')
    expect(answer.headers.get('content-security-policy')).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    )
    expect(html).not.toMatch(/<script|\ssrc=|\sstyle=|<link|url\(/)
    expect((await fetch(`${running.admin}/`, { method: 'POST' })).status).toBe(405)
    await running.end()
  })

  test('is there while the database is not, says why, and what is not known', async () => {
    const cluster = await startCluster()
    const url = cluster.url()
    expect((await axport(['migrate'], { env: { DATABASE_URL: url } })).code).toBe(0)
    const running = await world.serve([], { DATABASE_URL: url })
    expect(await page(running)).toContain(' highest: 0 a minute ')
    expect(await page(running)).toContain(' last import never ')
    await cluster.crash()
    await until('it is not ready', async () => (await page(running)).includes('Not ready'))
    expect((await send(running.url, LIST, { headers: bearer('x'.repeat(43)) })).status).toBe(503)
    await until('the request is counted', async () => (await page(running)).includes(' 1 failed (5xx) '))
    const text = await page(running)
    expect(text).toMatch(/ database wrong : \w[^<>]* schema skipped /)
    expect(text).toContain(' Feeds not known Data schema not known last import not known ')
    await running.end()
    await cluster.stop()
  })

  test('is there while serve waits for its database, and says what is not known yet', async () => {
    const env = { PORT: '0', ADMIN_PORT: String(await freePort()), DATABASE_URL: 'postgres://127.0.0.1:1/x' }
    const running = await start(['serve'], { env })
    await running.shows(/waiting for the database/)
    const text = await page({ admin: `http://127.0.0.1:${env.ADMIN_PORT}` })
    expect(text).toMatch(/ Not ready .* service wrong : it is starting database wrong : /)
    expect(text).toContain(' 0 failed (5xx) Feeds not known Data schema not known ')
    running.signal('SIGTERM')
    expect((await running.finished).code).toBe(0)
  })

  test('shows the newest migration of the database, not that of the executable', async () => {
    const { sql } = world
    const running = await world.serve()
    await sql`insert into schema_migrations (name, sha256) values ('9999_future', 'x')`
    expect(await page(running)).toContain(' schema 9999_future ')
    await sql`delete from schema_migrations where name = '9999_future'`
    const [last] = await sql<{ name: string }[]>`select max(name) as name from schema_migrations`
    expect(await page(running)).toContain(` schema ${last?.name} `)
    await running.end()
  })

  test('shows the state of feeds and of the record of disclosures', async () => {
    const { sql } = world
    await sql`
      insert into feeds (name, platform, snapshot_at, queries, succeeded_at)
      values ('platform', 'p', now() - interval '3 hours', '{}', now() - interval '10 minutes')`
    await sql`update disclosure_state set is_on = true`
    const running = await world.serve()
    expect(await page(running)).toContain(
      ' Feeds platform last round 10 minutes ago position 3 hours ago rows that wait 0 ',
    )
    expect(await page(running)).toContain(' disclosures recorded ')
    await sql`update disclosure_state set is_on = false`
    await sql`delete from feeds`
    await running.end()
  })
})

test('the page of a feed has what its process knows, and neither requests nor data', async () => {
  const view = new FeedView('platform', { version: '1', commit: 'c' })
  view.loaded({ at: Date.now() / 1000 - 300, seconds: 1, rows: 10, rejected: 2, isHeld: false })
  view.failed(false)
  const text = textOf(statusPage(await view.readiness(), await view.numbers()))
  expect(text).toContain(' Not ready ')
  expect(text).toContain(' feed wrong : the last round failed; the log says why ')
  expect(text).toContain(' Feeds platform last round 5 minutes ago rows that wait 2 failed rounds since 1 ')
  expect(text).not.toMatch(/Requests a minute|last import|connections/)
})

test('the last hour has sixty minutes, adds up processes, and forgets what is older', () => {
  const [one, other] = [new Minutes(), new Minutes()]
  for (let minute = 900; minute <= 1000; minute++) one.note(200, minute)
  for (const status of [200, 304, 404, 503, 500]) other.note(status, 999)
  const hour = lastHour([one.list(), other.list()], 1000)
  expect(hour.map(({ minute }) => minute)).toEqual(Array.from({ length: 60 }, (_, at) => 941 + at))
  expect(hour.at(-2)).toEqual({ minute: 999, answered: 3, refused: 1, failed: 2 })
  expect(hour.at(-1)).toEqual({ minute: 1000, answered: 1, refused: 0, failed: 0 })
  expect(one.list()).toHaveLength(60)
  expect(lastHour([one.list()], 2000).every(({ answered }) => answered === 0)).toBe(true)
})
