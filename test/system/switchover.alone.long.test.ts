import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { openDatabase } from '../../src/database/database.ts'
import { type OwnCluster, startCluster } from '../support/cluster.ts'
import { badFindings } from '../support/doctor.ts'
import { axport, cleanUp } from '../support/executable.ts'
import { get, LIST, newToken } from '../support/http.ts'
import { fill } from '../support/outage.ts'
import { serveWith } from '../support/served.ts'
import { until } from '../support/until.ts'
import { withConnection } from '../support/with-connection.ts'

setDefaultTimeout(120_000)

/** Milliseconds within which a service must find the new primary. */
const LIMIT_MS = 5000

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

/** A DATABASE_URL with several servers in this order. */
function over(clusters: OwnCluster[], wanted: string): string {
  const hosts = clusters.map(cluster => `127.0.0.1:${portOf(cluster)}`).join(',')
  return `${primary.url().replace(/@[^/]+/, `@${hosts}`)}?target_session_attrs=${wanted}`
}

/** A clean switchover: the new primary has everything that the old one has committed. */
async function switchOver(from: OwnCluster, to: OwnCluster): Promise<void> {
  await from.shutDown()
  await to.promote()
  await from.follow(to)
}

const limits = { size: 1, waitMs: 5000, statementMs: 5000, slowMs: 5000 }
const silent = { info: () => {}, warn: () => {} }

/** The ports of the servers to which a command and a request connect, or the error message. */
async function reached(url: string): Promise<unknown[]> {
  const WHERE = 'select inet_server_port() as port'
  const database = await openDatabase(url, 1).catch((error: Error) => error.message)
  if (typeof database === 'string') return [database]
  const pool = database.pool(limits, silent)
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
  ] as const)(
    '%s makes commands and requests connect to the right one of two servers',
    async (wanted, which) => {
      for (const order of [
        [standby, primary],
        [primary, standby],
      ]) {
        const right = { first: order[0], primary, standby }[which] as OwnCluster
        expect(await reached(over(order, wanted))).toEqual([portOf(right), portOf(right)])
      }
    },
  )

  test.each([
    ['read-write', () => standby],
    ['primary', () => standby],
    ['read-only', () => primary],
    ['standby', () => primary],
  ] as const)('%s is an error if the only server is of the other kind', async (wanted, only) => {
    expect(await reached(over([only()], wanted))).toEqual([
      expect.stringContaining('of the kind that target_session_attrs asks for'),
    ])
  })

  test('prefer-standby accepts a primary if there is no standby', async () => {
    expect(await reached(over([primary], 'prefer-standby'))).toEqual([portOf(primary), portOf(primary)])
  })

  test('prefer-standby that has met the primary first goes to the standby, and leaves no connection behind', async () => {
    const database = await openDatabase(over([primary, standby], 'prefer-standby'), 1)
    const pool = database.pool(limits, silent)
    const [row] = (await pool.unsafe('select pg_is_in_recovery() as is', [], { prepare: false })) as object[]
    expect(row).toEqual({ is: true })
    const left = () =>
      withConnection(
        primary.url(),
        sql =>
          sql`select from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
      )
    await until('the primary has no connection', async () => (await left()).length === 0)
    await pool.close()
    await database.close()
  })

  test('read-only accepts a primary whose transactions are read-only by default, and read-write does not', async () => {
    await setReadOnly(primary, 'on')
    expect(await reached(over([primary, standby], 'read-only'))).toEqual([portOf(primary), portOf(primary)])
    expect(await reached(over([standby, primary], 'primary'))).toEqual([portOf(primary), portOf(primary)])
    expect((await reached(over([primary, standby], 'read-write'))).join()).toContain('of the kind')
    await setReadOnly(primary, 'off')
  })
})

async function setReadOnly(cluster: OwnCluster, value: 'on' | 'off'): Promise<void> {
  await withConnection(cluster.url(), async sql => {
    await sql.unsafe(`alter system set default_transaction_read_only = ${value}`)
    await sql`select pg_reload_conf()`
  })
  const isApplied = async () => {
    const [row] = await withConnection(cluster.url(), sql => sql`show default_transaction_read_only`)
    return row?.default_transaction_read_only === value
  }
  await until(`default_transaction_read_only is ${value}`, isApplied)
}

test('a service issues tokens within 5 s of a switchover and of the switch back, without a restart', async () => {
  const service = await serveWith([], { DATABASE_URL: over([standby, primary], 'read-write') })
  const issues = async () => (await newToken(service.url, credentials)) !== undefined
  expect(await issues()).toBe(true)
  await switchOver(primary, standby)
  await until('the service issues tokens at the new primary', issues, LIMIT_MS)
  await switchOver(standby, primary)
  await until('the service issues tokens at the old primary again', issues, LIMIT_MS)
  expect((await get(service.url, credentials.token, LIST)).status).toBe(200)
  await service.end()
})

test('doctor says that a standby takes no writes, and nothing else', async () => {
  expect(await badFindings(standby.url())).toEqual([
    expect.stringMatching(/^server: warning, .* takes no writes \(it is a standby\)/),
  ])
  expect(await axport(['doctor'], { env: { DATABASE_URL: standby.url() } })).toMatchObject({ code: 0 })
})

// This test must be the last one, because afterwards there are two primaries.
test('a request whose server has become read-only is repeated at a server that accepts writes', async () => {
  const service = await serveWith([], { DATABASE_URL: over([primary, standby], 'read-write') })
  await newToken(service.url, credentials)
  await standby.promote()
  await setReadOnly(primary, 'on')
  await newToken(service.url, credentials)
  await service.end()
})
