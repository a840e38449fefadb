// Disclosures while no standby of synchronous_standby_names confirms their commits.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { createIntegration } from '../../src/integrations/credentials.ts'
import { openDatabase } from '../../src/postgres/database.ts'
import { migrate } from '../../src/postgres/schema/migrate.ts'
import { setDisclosing } from '../../src/tables/disclosing.ts'
import { axport, cleanUp } from '../support/executable.ts'
import { assessment, ORGANIZATION, PRODUCT, world } from '../support/fixtures.ts'
import { type Credentials, newToken, postToken, tryList } from '../support/http.ts'
import { type OwnCluster, startCluster } from '../support/own-cluster.ts'
import { type Served, serveWith } from '../support/served.ts'
import { load } from '../support/service.ts'
import { until } from '../support/until.ts'
import { withConnection } from '../support/with-connection.ts'

setDefaultTimeout(180_000)

let primary: OwnCluster
let standby: OwnCluster
let credentials: Credentials
const ask = (text: string) => withConnection(primary.url(), sql => sql.unsafe(text))

beforeAll(async () => {
  primary = await startCluster()
  standby = await primary.startStandby()
  const { sql, close } = await openDatabase(primary.url(), 1)
  await migrate(sql)
  await load(sql, [...world(), assessment(9001)])
  credentials = await createIntegration(sql, 'Any', [String(ORGANIZATION)], [String(PRODUCT)])
  await setDisclosing(sql, { isOn: true })
  await close()
  await ask(`alter system set synchronous_standby_names = '*'`)
  await ask('select pg_reload_conf()')
  // The service has to get the warning all the same.
  await ask(`alter database postgres set client_min_messages = 'error'`)
})
afterAll(async () => {
  await cleanUp()
  await standby?.stop()
  await primary?.stop()
})

/** Restarts the standby, and waits until it streams. */
async function standbyReturns(): Promise<void> {
  await standby.restart()
  await until('it streams', async () => {
    return (await ask(`select from pg_stat_replication where state = 'streaming'`)).count === 1
  })
}

let started = 0

/** Starts a service. Its connections have a role of their own. */
async function serve(poolSize: number): Promise<Served & { role: string }> {
  const role = `serve_${++started}`
  const url = new URL(primary.url())
  await ask(`create role ${role} login superuser password '${url.password}'`)
  url.username = role
  const served = await serveWith([], {
    DATABASE_URL: url.href,
    DATABASE_POOL_SIZE: String(poolSize),
    STATEMENT_TIMEOUT: '2',
    ADMIN_PORT: '0',
  })
  return { ...served, role }
}

interface Ready {
  checks: { check: string; status: string; detail?: string }[]
}

/** The status of /ready, and what is wrong with writing. */
async function ready({ admin }: Served): Promise<{ status: number; detail: string | undefined }> {
  const response = await fetch(`${admin}/ready`)
  const { checks } = (await response.json()) as Ready
  return { status: response.status, detail: checks.find(({ check }) => check === 'writable')?.detail }
}

const waiting = async () => ask(`select pid from pg_stat_activity where wait_event = 'SyncRep'`)

test('a page whose recording no standby has confirmed is a 503, also if the backend that waits is ended', async () => {
  const service = await serve(3)
  const token = await newToken(service.url, credentials)
  expect((await tryList(service.url, token)).status).toBe(200)
  await standby.shutDown()
  const late = tryList(service.url, token)
  await until('it waits', async () => (await waiting()).count > 0)
  expect((await late).status).toBe(503)
  const again = tryList(service.url, token)
  await until('it waits', async () => (await waiting()).count > 0)
  await ask(`select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`)
  expect((await again).status).toBe(503)
  // The keys of both are there.
  expect((await ask('select from disclosures')).count).toBeGreaterThanOrEqual(2)
  await standbyReturns()
  expect((await tryList(service.url, token)).status).toBe(200)
  await service.end()
})

test('a token whose wait for a standby is cancelled is issued late, and is valid', async () => {
  const service = await serve(3)
  await standby.shutDown()
  const sentAt = performance.now()
  const token = await newToken(service.url, credentials)
  // STATEMENT_TIMEOUT.
  expect(performance.now() - sentAt).toBeGreaterThan(1500)
  // A page without records is not recorded.
  expect((await tryList(service.url, token, 'offset=10')).status).toBe(200)
  await standbyReturns()
  await service.end()
})

test('doctor names the setting', async () => {
  await standby.shutDown()
  await until('the primary knows', async () => (await ask('select from pg_stat_replication')).count === 0)
  const { stdout } = await axport(['doctor'], { env: { DATABASE_URL: primary.url() } })
  expect(stdout).toMatch(/^confirmation +wrong +.*synchronous_standby_names = '\*'/m)
  await standbyReturns()
  const { stdout: after } = await axport(['doctor'], { env: { DATABASE_URL: primary.url() } })
  expect(after).toMatch(/^confirmation +ok /m)
})

/** Whether /ready says why no page is answered. */
const isWhy = (reason: string) =>
  reason.startsWith(
    '503 no standby confirms commits (synchronous_standby_names): no disclosures can be recorded',
  )

/** What clients and /ready of a service saw while no standby confirmed, and the most backends that it had. */
interface Seen {
  statuses: Record<string, number>
  reasons: string[]
  most: number
}

/**
 * Sends requests of all kinds for 15 seconds, and on until /ready has said why no page is answered, for a minute at most.
 * Counts the backends of the service.
 */
async function storm(service: Served & { role: string }, token: string): Promise<Seen> {
  const seen: Seen = { statuses: {}, reasons: [], most: 0 }
  const begun = performance.now()
  const isOver = () => performance.now() - begun > (seen.reasons.some(isWhy) ? 15_000 : 60_000)
  const clients = (n: number, what: string, request: () => Promise<number>) =>
    Array.from({ length: n }, async () => {
      while (!isOver()) {
        const status = await request().catch(error => (error as Error).name)
        seen.statuses[`${what} ${status}`] = (seen.statuses[`${what} ${status}`] ?? 0) + 1
        await Bun.sleep(40)
      }
    })
  const page = async (signal: AbortSignal | null) => {
    const headers = { authorization: `Bearer ${token}` }
    return (await fetch(`${service.url}/api/v1/ax/assessments`, { headers, signal })).status
  }
  const wrong = { ...credentials, clientSecret: 'x'.repeat(43) } as Credentials
  const watch = async () => {
    while (!isOver()) {
      const rows = await ask(`
        select from pg_stat_activity where backend_type = 'client backend' and usename = '${service.role}'`)
      seen.most = Math.max(seen.most, rows.count)
      const { status, detail } = await ready(service)
      if (detail && !seen.reasons.includes(`${status} ${detail}`)) seen.reasons.push(`${status} ${detail}`)
      await Bun.sleep(500)
    }
  }
  await Promise.all([
    watch(),
    ...clients(10, 'page', () => page(null)),
    // Clients that hang up.
    ...clients(5, 'impatient', () => page(AbortSignal.timeout(300))),
    ...clients(5, 'token', async () => (await postToken(service.url, credentials)).status),
    ...clients(2, 'refusal', async () => (await postToken(service.url, wrong)).status),
  ])
  return seen
}

test('while no standby confirms, no page is answered, backends do not pile up with a pool of 1 or 10, /ready says why, and pages are back after the standby', async () => {
  const services = await Promise.all([1, 10].map(async size => ({ size, service: await serve(size) })))
  const token = await newToken(services[0]?.service.url ?? '', credentials)
  await standby.shutDown()
  await Promise.all(
    services.map(async ({ size, service }) => {
      const { statuses, reasons, most } = await storm(service, token)
      const seen = JSON.stringify({ size, most, statuses, reasons })
      expect(statuses['page 200'], seen).toBeUndefined()
      expect(statuses['impatient 200'], seen).toBeUndefined()
      expect(statuses['page 503'], seen).toBeGreaterThan(0)
      // Those of the pool, and one that probes.
      expect(most, seen).toBeLessThanOrEqual(size + 1)
      expect(reasons.some(isWhy), seen).toBe(true)
    }),
  )
  await standbyReturns()
  for (const { service } of services) {
    await until('a page is answered', async () => (await tryList(service.url, token)).status === 200)
    await until('/ready is 200', async () => (await ready(service)).status === 200)
  }
  for (const { service } of services) await service.end()
})
