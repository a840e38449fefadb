import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import postgres from 'postgres'
import { openDatabase } from '../../src/postgres/database.ts'
import { type OwnCluster, startCluster } from '../support/cluster.ts'
import { ailments } from '../support/doctor.ts'
import { axport, cleanUp } from '../support/executable.ts'
import { get, LIST, newToken } from '../support/http.ts'
import { fill } from '../support/outage.ts'
import { serveWith } from '../support/served.ts'
import { until } from '../support/until.ts'

setDefaultTimeout(120_000)

/** Milliseconds in which a service has to find the new primary. */
const SOON = 5000

let primary: OwnCluster
let standby: OwnCluster
let credentials: Awaited<ReturnType<typeof fill>>

beforeAll(async () => {
  primary = await startCluster()
  credentials = await fill(primary.url())
  standby = await primary.startStandby()
})
afterAll(async () => {
  await standby.stop()
  await primary.stop()
})
afterEach(cleanUp)

const portOf = (cluster: OwnCluster) => Number(new URL(cluster.url()).port)

/** DATABASE_URL with several servers, in this order. */
function over(clusters: OwnCluster[], wanted: string): string {
  const hosts = clusters.map(cluster => `127.0.0.1:${portOf(cluster)}`).join(',')
  return `${primary.url().replace(/@[^/]+/, `@${hosts}`)}?target_session_attrs=${wanted}`
}

/** Of a clean kind: everything that the old primary has committed is on the new one. */
async function switchOver(from: OwnCluster, to: OwnCluster): Promise<void> {
  await from.shutDown()
  await to.promote()
  await from.follow(to)
}

const atRest = { size: 1, waitMs: 5000, statementMs: 5000, slowMs: 5000 }
const silent = { info: () => {}, warn: () => {} }

/** The ports of the servers to which a command and a request are led, or why they are not. */
async function reached(url: string): Promise<unknown[]> {
  const WHERE = 'select inet_server_port() as port'
  const database = await openDatabase(url, 1).catch((error: Error) => error.message)
  if (typeof database === 'string') return [database]
  const pool = database.pool(atRest, silent)
  const ports = [await database.sql.unsafe(WHERE), await pool.unsafe(WHERE, [], { prepare: false })]
  await pool.close()
  await database.close()
  return ports.map(rows => (rows as { port: number }[])[0]?.port)
}

describe('target_session_attrs', () => {
  test.each([
    ['any', 'first', 'first'],
    ['read-write', 'primary', 'primary'],
    ['read-only', 'standby', 'standby'],
    ['primary', 'primary', 'primary'],
    ['standby', 'standby', 'standby'],
    ['prefer-standby', 'standby', 'standby'],
  ] as const)('%s leads commands and requests to the right one of several servers', async (wanted, which) => {
    for (const order of [
      [standby, primary],
      [primary, standby],
    ]) {
      const right = { first: order[0], primary, standby }[which] as OwnCluster
      expect(await reached(over(order, wanted))).toEqual([portOf(right), portOf(right)])
    }
  })

  test.each([
    ['read-write', () => standby],
    ['primary', () => standby],
    ['read-only', () => primary],
    ['standby', () => primary],
  ] as const)('%s is refused by the only server, that is of the other kind', async (wanted, only) => {
    expect(await reached(over([only()], wanted))).toEqual([
      expect.stringContaining('of the kind that target_session_attrs asks for'),
    ])
  })

  test('prefer-standby takes a primary where there is no standby', async () => {
    expect(await reached(over([primary], 'prefer-standby'))).toEqual([portOf(primary), portOf(primary)])
  })

  test('read-write takes no primary whose transactions are read-only by default, read-only does', async () => {
    await setReadOnly(primary, 'on')
    expect(await reached(over([primary, standby], 'read-only'))).toEqual([portOf(primary), portOf(primary)])
    expect(await reached(over([standby, primary], 'primary'))).toEqual([portOf(primary), portOf(primary)])
    expect((await reached(over([primary, standby], 'read-write'))).join()).toContain('of the kind')
    await setReadOnly(primary, 'off')
  })
})

async function setReadOnly(cluster: OwnCluster, value: 'on' | 'off'): Promise<void> {
  const sql = postgres(cluster.url(), { max: 1, fetch_types: false })
  await sql.unsafe(`alter system set default_transaction_read_only = ${value}`)
  await sql`select pg_reload_conf()`
  await sql.end()
  const shown = async () => {
    const sql = postgres(cluster.url(), { max: 1, fetch_types: false })
    const [row] = await sql`show default_transaction_read_only`.finally(() => sql.end())
    return row?.default_transaction_read_only === value
  }
  await until(`default_transaction_read_only is ${value}`, shown)
}

test('tokens are issued again soon after a switchover, and after the way back, without a restart', async () => {
  const service = await serveWith([], { DATABASE_URL: over([standby, primary], 'read-write') })
  const issues = async () => (await newToken(service.url, credentials)) !== undefined
  expect(await issues()).toBe(true)
  await switchOver(primary, standby)
  await until('tokens are issued by the new primary', issues, SOON)
  await switchOver(standby, primary)
  await until('tokens are issued by the old one again', issues, SOON)
  expect((await get(service.url, credentials.token, LIST)).status).toBe(200)
  await service.end()
})

test('doctor has no advice for a standby that would be mended there', async () => {
  expect(await ailments(standby.url())).toEqual([
    expect.stringMatching(/^writes: warning, none, this is a standby/),
  ])
  expect(await axport(['doctor'], { env: { DATABASE_URL: standby.url() } })).toMatchObject({ code: 0 })
})

// The last one: it leaves two primaries behind.
test('a connection whose server takes writes no more is left for one that does, within the request', async () => {
  const service = await serveWith([], { DATABASE_URL: over([primary, standby], 'read-write') })
  await newToken(service.url, credentials)
  await standby.promote()
  await setReadOnly(primary, 'on')
  await newToken(service.url, credentials)
  await service.end()
})
