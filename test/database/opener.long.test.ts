import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { dirname, join } from 'node:path'
import { openDatabase } from '../../src/database/database.ts'
import { ClientGone } from '../../src/database/failures.ts'
import { selfSigned } from '../support/certificate.ts'
import { type OwnCluster, startCluster } from '../support/cluster.ts'
import { axport, cleanUp, emptyFolder } from '../support/executable.ts'
import { requires } from '../support/requires.ts'
import { startTlsProxy, type TlsProxy } from '../support/tls-proxy.ts'
import { until } from '../support/until.ts'

const BOUNDS = { size: 1, waitMs: 5000, statementMs: 60_000, slowMs: 60_000 }
const LOG = { info: () => {}, warn: () => {} }
const WHERE = `select coalesce(host(inet_server_addr()), 'socket') as at`

let own: OwnCluster
let server: URL
let folder: string
beforeAll(async () => {
  own = await startCluster({ settings: { listen_addresses: IPV6.isHere ? '127.0.0.1,::1' : '127.0.0.1' } })
  server = new URL(own.url())
  folder = dirname(own.dataDir)
})
afterAll(async () => {
  await cleanUp()
  await own.stop()
})

const IPV6 = {
  name: 'IPv6',
  isHere: Object.values(networkInterfaces()).some(list => list?.some(({ address }) => address === '::1')),
}

/** The server that commands and requests reach; throws if cancel requests do not reach the same server. */
async function arrivals(url: string): Promise<{ command: unknown; request: unknown }> {
  const database = await openDatabase(url, 1)
  const db = database.pool(BOUNDS, LOG)
  const [command] = await database.sql.unsafe(WHERE)
  const [request] = (await db.unsafe(WHERE, [], { prepare: false })) as { at: string }[]
  const hangUp = new AbortController()
  const asleep = Promise.resolve(db.forRequest(hangUp).unsafe('select pg_sleep(60)', [], { prepare: false }))
  const ending = asleep.catch(error => error)
  await until('it sleeps', async () => {
    const { count } =
      await database.sql`select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`
    return count === 1
  })
  hangUp.abort()
  expect(await ending).toBeInstanceOf(ClientGone)
  // The connection is still open. A failed cancel request would have closed it.
  await until('it is cancelled', () => db.stats().idle === 1)
  await db.close()
  await database.close()
  return { command: command?.at, request: request?.at }
}

/** The URL with other hosts. */
const at = (hosts: string, parameters = '') =>
  `postgres://${server.username}:${server.password}@${hosts}/postgres${parameters}`

/** Commands of the executable must reach the server, too. */
async function expectReached(url: string, place: string): Promise<void> {
  expect(await arrivals(url)).toEqual({ command: place, request: place })
  const { code, stderr } = await axport(['migrate', '--time-zone', 'UTC'], { env: { DATABASE_URL: url } })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
}

describe('commands, requests and cancel requests reach', () => {
  requires(IPV6).test('an IPv6 address', async () => {
    await expectReached(at(`[::1]:${server.port}`), '::1')
  })

  test.each([
    ['before the "?"', (path: string, port: string) => at(`${encodeURIComponent(path)}:${port}`)],
    ['after the "?"', (path: string, port: string) => at('', `?host=${path}&port=${port}`)],
  ])('the folder of a socket, written %s', async (_, url) => {
    await expectReached(url(folder, server.port), 'socket')
  })

  requires(IPV6).test('the first of several hosts that answers, of any kind', async () => {
    const [nobody, socket] = [`localhost:1`, encodeURIComponent(folder)]
    await expectReached(at(`${nobody},[::1]:${server.port},${socket}:${server.port}`), '::1')
    await expectReached(at(`[::1]:1,${socket}:1,${socket}:${server.port},${server.host}`), 'socket')
    await expectReached(at(`${socket}:1,${server.host}`), '127.0.0.1')
  })
})

describe('through a proxy that routes by the TLS server name (SNI)', () => {
  const CERTIFICATE = selfSigned('database')
  let proxy: TlsProxy
  let authority: string
  beforeAll(async () => {
    proxy = await startTlsProxy(own.url(), CERTIFICATE)
    authority = join(emptyFolder(), 'root.crt')
    writeFileSync(authority, CERTIFICATE.cert)
  })
  afterAll(() => proxy.stop())

  const through = (host: string, mode: string, file = authority) =>
    at(`${host}:${proxy.port}`, `?sslmode=${mode}${file && `&sslrootcert=${file}`}`)

  test('every connection sends the host name, and verifies the certificate', async () => {
    proxy.names.length = 0
    await expectReached(through('localhost', 'verify-full'), '127.0.0.1')
    expect(new Set(proxy.names)).toEqual(new Set(['localhost']))
    // The connections: for a command, of the watchdog, for a request and a cancel request; one of the executable. On a
    // busy machine there may be another cancel request.
    expect(proxy.names.length).toBeGreaterThanOrEqual(5)
  })

  test('an IP address is not sent as a server name, but the certificate is still verified', async () => {
    proxy.names.length = 0
    await expectReached(through('127.0.0.1', 'verify-full'), '127.0.0.1')
    expect(proxy.names).toEqual([])
  })

  test.each([
    ['verify-full', 'verified'],
    ['verify-ca', 'verified'],
    ['require', 'verified'],
  ])('%s refuses a certificate of another authority', async (mode, message) => {
    const other = join(emptyFolder(), 'other.crt')
    writeFileSync(other, selfSigned('somebody else').cert)
    await expect(openDatabase(through('localhost', mode, other), 1)).rejects.toThrow(message)
  })

  test('only verify-full refuses a certificate for another name, for commands and requests', async () => {
    await expect(openDatabase(through('127.0.0.2', 'verify-full'), 1)).rejects.toThrow('for another name')
    let url = through('127.0.0.2', 'verify-ca')
    const database = await openDatabase(() => url, 1)
    url = through('127.0.0.2', 'verify-full')
    const db = database.pool(BOUNDS, LOG)
    await expect(db.unsafe(WHERE, [], { prepare: false })).rejects.toThrow('for another name')
    await db.close()
    await database.close()
  })

  test('bytes appended to the unencrypted answer are not read as encrypted ones', async () => {
    const between = createServer(client => void client.once('data', () => client.write('SE')))
    await new Promise<void>(resolve => between.listen(0, '127.0.0.1', resolve))
    const { port } = between.address() as { port: number }
    await expect(openDatabase(at(`127.0.0.1:${port}`, '?sslmode=require'), 1)).rejects.toThrow('not encrypt')
    between.close()
  })

  test('prefer continues unencrypted if the server does not encrypt, and require fails', async () => {
    await expectReached(at(server.host, '?sslmode=prefer'), '127.0.0.1')
    await expect(openDatabase(at(server.host, '?sslmode=require'), 1)).rejects.toThrow('does not encrypt')
  })
})
