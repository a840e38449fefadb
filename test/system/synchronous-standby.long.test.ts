// The service while no standby of synchronous_standby_names confirms commits.
import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { openDatabase } from '../../src/database/database.ts'
import { migrate } from '../../src/database/migrate.ts'
import { createIntegration } from '../../src/integrations/credentials.ts'
import { setDisclosureState } from '../../src/tables/disclosure-state.ts'
import { cleanUp } from '../support/executable.ts'
import { assessment, ORGANIZATION, PRODUCT, world } from '../support/fixtures.ts'
import { type Credentials, newToken, postToken, tryList } from '../support/http.ts'
import { type OwnCluster, startCluster } from '../support/own-cluster.ts'
import { firstToken, type Served, serveWith } from '../support/served.ts'
import { load } from '../support/service.ts'
import { until } from '../support/until.ts'
import { withConnection } from '../support/with-connection.ts'

setDefaultTimeout(180_000)

/** In seconds. */
const STATEMENT_TIMEOUT = 2

let cluster: OwnCluster
let credentials: Credentials
const ask = (text: string) => withConnection(cluster.url(), sql => sql.unsafe(text))

beforeAll(async () => {
  cluster = await startCluster()
  const { sql, close } = await openDatabase(cluster.url(), 1)
  await migrate(sql)
  await load(sql, [...world(), assessment(9001)])
  credentials = await createIntegration(sql, 'Any', [String(ORGANIZATION)], [String(PRODUCT)])
  await setDisclosureState(sql, { isOn: true })
  await close()
})
beforeEach(() => confirmBy(''))
afterAll(async () => {
  await cleanUp()
  await cluster?.stop()
})

/** Lets commits wait for this standby. */
async function confirmBy(name: string): Promise<void> {
  await ask(`alter system set synchronous_standby_names = '${name}'`)
  await ask('select pg_reload_conf()')
  await until('the setting is read', async () => {
    const [row] = await ask('show synchronous_standby_names')
    return row?.synchronous_standby_names === name
  })
}

let started = 0

/** Starts a service. Its connections have a role of their own. */
async function serve(poolSize: number): Promise<Served & { role: string }> {
  const role = `serve_${++started}`
  const url = new URL(cluster.url())
  await ask(`create role ${role} login superuser password '${url.password}'`)
  url.username = role
  const served = await serveWith([], {
    DATABASE_URL: url.href,
    DATABASE_POOL_SIZE: String(poolSize),
    STATEMENT_TIMEOUT: String(STATEMENT_TIMEOUT),
    ADMIN_PORT: '0',
  })
  return { ...served, role }
}

test('a token waits for no standby; a page whose record does is sent after STATEMENT_TIMEOUT, and the record has it', async () => {
  const service = await serve(3)
  await confirmBy('nobody')
  const timed = async <Result>(work: Promise<Result>): Promise<[Result, waited: boolean]> => {
    const sentAt = performance.now()
    const result = await work
    return [result, performance.now() - sentAt > 1000 * STATEMENT_TIMEOUT - 500]
  }
  const [token, hasTokenWaited] = await timed(newToken(service.url, credentials))
  const [page, hasPageWaited] = await timed(tryList(service.url, token))
  expect([hasTokenWaited, page.status, hasPageWaited]).toEqual([false, 200, true])
  expect((await ask('select from disclosures')).count).toBe(1)
  // A page without records is not recorded.
  expect((await tryList(service.url, token, 'offset=10')).status).toBe(200)
  await service.end()
})

/** The statuses of answers while no standby confirmed, and the most backends that a service had. */
interface Seen {
  statuses: Record<string, number>
  most: number
}

/** Sends requests of all kinds for 15 seconds, and counts the backends of the service. */
async function storm(service: Served & { role: string }, token: string): Promise<Seen> {
  const seen: Seen = { statuses: {}, most: 0 }
  const begun = performance.now()
  const isOver = () => performance.now() - begun > 15_000
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

test('while no standby confirms, backends do not pile up with a pool of 1 or 10, and pages are back after the standby', async () => {
  const services = await Promise.all([1, 10].map(async size => ({ size, service: await serve(size) })))
  const token = await firstToken(services[0]?.service.url ?? '', credentials)
  await confirmBy('nobody')
  await Promise.all(
    services.map(async ({ size, service }) => {
      const { statuses, most } = await storm(service, token)
      const seen = JSON.stringify({ size, most, statuses })
      expect(Object.keys(statuses).join(), seen).not.toMatch(/ 500/)
      // A cancel may arrive when its backend runs the next statement, whose commit then waits for nobody.
      expect(statuses['impatient 200'] ?? 0, seen).toBeLessThan(10)
      // Those of the pool, and one that probes.
      expect(most, seen).toBeLessThanOrEqual(size + 1)
      if (process.env.SHOW_OUTCOMES) console.log(seen)
    }),
  )
  await confirmBy('')
  for (const { service } of services) {
    await until('a page is answered', async () => (await tryList(service.url, token)).status === 200)
    await until('/ready is 200', async () => (await fetch(`${service.admin}/ready`)).status === 200)
  }
  for (const { service } of services) await service.end()
})
