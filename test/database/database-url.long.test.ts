import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { openDatabase } from '../../src/database/database.ts'
import { readPostgresUrl } from '../../src/database/url.ts'
import { selfSigned } from '../support/certificate.ts'
import { type OwnCluster, startCluster } from '../support/cluster.ts'
import { encryptCluster } from '../support/encrypt-cluster.ts'
import { axport, cleanUp, emptyFolder, errorLine } from '../support/executable.ts'
import { FlakyProxy } from '../support/flaky-proxy.ts'
import { expectUnavailable, fill, startOutageService } from '../support/outage.ts'
import { until } from '../support/until.ts'

afterAll(cleanUp)

describe('DATABASE_URL', () => {
  test('may have several hosts with ports, an IPv6 address, or the folder of a socket', () => {
    const addresses = (url: string) => readPostgresUrl(url).addresses
    expect(addresses('postgres://u:p@one:6000,two/d')).toEqual([
      { host: 'one', port: 6000 },
      { host: 'two', port: 5432 },
    ])
    expect(addresses('postgresql://u:p%40@[::1]:6000/d')).toEqual([{ host: '::1', port: 6000 }])
    expect(addresses('postgres://u@%2Frun%2Fpostgresql/d')).toEqual([
      { path: '/run/postgresql/.s.PGSQL.5432' },
    ])
    expect(addresses('postgres:///d')).toEqual([{ host: 'localhost', port: 5432 }])
  })

  test.each(['5e3', '0x50', '+5432', '5432.0', '%205432', '-1', '0', '65536'])(
    'has a port of digits alone, which %s is not',
    port => {
      for (const url of [`postgres://h:${port}/d`, `postgres:///d?host=h&port=${port}`])
        expect(() => readPostgresUrl(url)).toThrow('DATABASE_URL (or what DATABASE_URL_FILE holds) must be')
    },
  )

  test('may have the hosts after the "?", as in libpq for the folder of a socket', () => {
    const { addresses, parameters } = readPostgresUrl('postgres:///d?host=/run/postgresql,two&port=6000')
    expect(addresses).toEqual([{ path: '/run/postgresql/.s.PGSQL.6000' }, { host: 'two', port: 6000 }])
    expect(parameters).toEqual({})
    expect(readPostgresUrl('postgres:///d?host=a,b&port=1,2').addresses).toEqual([
      { host: 'a', port: 1 },
      { host: 'b', port: 2 },
    ])
  })

  test('may have parameters of libpq without effect on axport, and those that the server gets', () => {
    const read = readPostgresUrl(
      'postgres://u:p%25@h/d?gssencmode=prefer&prepare=false&options=-c%20work_mem%3D1MB&application_name=a',
    )
    expect(read).toMatchObject({ login: { user: 'u', database: 'd' }, prepare: false, target: 'any' })
    expect(read.parameters).toEqual({ options: '-c work_mem=1MB', application_name: 'a' })
  })

  test('names the user of this process, and the database of its name, if it names none', () => {
    const { username } = userInfo()
    expect(readPostgresUrl('postgres://h').login).toEqual({ user: username, database: username })
    expect(readPostgresUrl('postgres://u@h').login).toEqual({ user: 'u', database: 'u' })
  })

  test.each([
    ['', 'disable'],
    ['ssl=true', 'require'],
    ['sslmode=allow', 'allow'],
    ['sslrootcert=system&sslmode=require', 'verify-full'],
    ['sslrootcert=system&sslmode=verify-ca', 'verify-full'],
    ['sslrootcert=package.json', 'verify-full'],
    ['sslrootcert=package.json&sslmode=require', 'verify-ca'],
    ['sslnegotiation=direct&sslmode=require', 'require'],
  ])('has the encryption mode of libpq for "%s"', (parameters, mode) => {
    expect(readPostgresUrl(`postgres://h/d?${parameters}`).encryption.mode).toBe(mode as 'require')
  })

  test.each([
    ['channel_binding=require', /channel_binding.*remove it/],
    ['sslcert=a.crt&sslkey=a.key', /sslcert.*password/],
    ['gssencmode=require', /gssencmode.*remove it/],
    ['sslmode=on', /sslmode .*disable, allow, prefer, require, verify-ca, verify-full/],
    ['sslmode=verify-ca', /sslmode=verify-ca .*needs sslrootcert=FILE/],
    ['sslnegotiation=direct', /sslnegotiation=direct .*needs sslmode=require/],
    ['target_session_attrs=master', /target_session_attrs .*any, read-write/],
    ['service=axport', /has service.*write out/],
    ['sslrootcert=/nowhere', /sslrootcert .*names \/nowhere.*ENOENT/],
    ['no_such_parameter=1', /has no_such_parameter, which is no parameter of libpq/],
    ['work_mem=1MB', /has work_mem, which is no parameter of libpq.*options=-c%20NAME%3DVALUE/],
    ['ssl=false', /has ssl, which is no parameter of libpq/],
    ['options=-c%20no_such%3D1', /does not know a parameter in DATABASE_URL/],
  ])(
    'with an unsupported parameter is refused in one line that names the parameter: %s',
    async (parameter, message) => {
      const url = await anyDatabase()
      const env = { DATABASE_URL: `${url}?${parameter}` }
      expect(errorLine(await axport(['serve'], { env }), 1)).toMatch(message)
    },
  )

  test('alone determines the connection: environment variables of libpq are not read', async () => {
    const env = { DATABASE_URL: await anyDatabase(), PGHOST: 'db.invalid', PGSSL: 'require', PGOPTIONS: 'x' }
    const more = { PGTARGETSESSIONATTRS: 'standby', PGDATA: '/x' }
    expect(await axport(['migrate', '--time-zone', 'UTC'], { env: { ...env, ...more } })).toMatchObject({
      code: 0,
      stderr:
        'axport: PGHOST, PGOPTIONS, PGSSL, PGTARGETSESSIONATTRS are ignored: DATABASE_URL alone names the database\n',
    })
    const { stderr } = await axport(['sample', '1'], { env })
    expect(stderr).toBe('')
    const without = env.DATABASE_URL.replace(/:[^:@/]+@/, '@')
    const refused = await axport(['migrate'], {
      env: { DATABASE_URL: without, PGPASSWORD: new URL(env.DATABASE_URL).password },
    })
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^axport: PGPASSWORD is ignored: .*\naxport: .*refuses the user or password.*\n$/,
      ),
    })
  })
})

let own: OwnCluster
const anyDatabase = async () => own.url()
beforeAll(async () => {
  own = await startCluster()
})
afterAll(() => own.stop())

describe('a connection to a Postgres with TLS', () => {
  const CERTIFICATE = selfSigned('database')
  let authority: string

  beforeAll(async () => {
    authority = join(emptyFolder(), 'root.crt')
    writeFileSync(authority, CERTIFICATE.cert)
    await encryptCluster(own, CERTIFICATE)
  })

  /** Whether a connection is encrypted, or the reason for its failure. */
  const connects = async (host: string, parameters: string) => {
    const url = `${own.url().replace('127.0.0.1', host)}?${parameters}`
    const database = await openDatabase(url, 1).catch(error => (error as Error).message)
    if (typeof database === 'string') return database
    const [row] = await database.sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`
    await database.close()
    return row?.ssl
  }

  test('is verified with the authority in sslrootcert, and with verify-full also by its host name', async () => {
    expect(await connects('localhost', `sslmode=verify-full&sslrootcert=${authority}`)).toBe(true)
    expect(await connects('localhost', 'sslmode=require')).toBe(true)
    expect(await connects('localhost', 'sslmode=require&sslnegotiation=direct')).toBe(true)
    expect(await connects('localhost', 'sslmode=prefer')).toBe(true)
    expect(await connects('localhost', 'sslmode=allow')).toBe(false)
    expect(await connects('localhost', 'sslmode=verify-full')).toContain('cannot be verified')
    const { cert } = selfSigned('somebody else')
    const wrong = join(emptyFolder(), 'wrong.crt')
    writeFileSync(wrong, cert)
    expect(await connects('localhost', `sslmode=verify-full&sslrootcert=${wrong}`)).toContain(
      'cannot be verified',
    )
  })

  test('is encrypted with sslmode=allow if the server accepts only encrypted connections', async () => {
    const rules = join(own.dataDir, 'pg_hba.conf')
    const before = readFileSync(rules, 'utf8')
    const reload = async (text: string) => {
      writeFileSync(rules, text)
      process.kill(own.pid, 'SIGHUP')
    }
    await reload(before.replaceAll(/^host /gm, 'hostssl '))
    const inTheClear = () => connects('localhost', 'sslmode=disable')
    await until('it refuses others', async () =>
      String(await inTheClear()).includes('not encrypted (sslmode)'),
    )
    expect(await connects('localhost', 'sslmode=allow')).toBe(true)
    await reload(before)
    await until('it takes others again', async () => (await inTheClear()) === false)
  })

  test('that is cancelled, cut or garbled affects no other statement', async () => {
    const credentials = await fill(own.url())
    const proxy = await FlakyProxy.start(own.url())
    const service = await startOutageService(`${proxy.url}?sslmode=require`, credentials, {})
    expect((await service.list()).status).toBe(200)
    const sql = postgres(own.url(), { max: 1, fetch_types: false })
    const watcher = postgres(own.url(), { max: 1, fetch_types: false })
    const active = async () =>
      (
        await watcher`select from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'axport'`
      ).count
    // The recording of the token's use runs at the same time.
    await until('the pool is at rest', () => service.pool.stats().inUse === 0)
    const before = proxy.accepted
    await sql`begin`
    await sql`lock table access_tokens in access exclusive mode`
    const client = new AbortController()
    service.list({ signal: client.signal }).catch(() => {})
    await until('the request waits', active)
    client.abort()
    await until('the pool is at rest', async () => (await active()) + service.pool.stats().inUse === 0)
    // One connection is for the cancel request, and none replaces a destroyed connection.
    expect(proxy.accepted).toBe(before + 1)
    expect(service.pool.stats().idle).toBeGreaterThan(0)
    await sql`rollback`
    proxy.cut()
    expect((await service.list()).status).toBe(200)
    expect(service.newMessages()).toEqual([])
    proxy.setNetwork({ is: 'garbling' })
    await expectUnavailable(service)
    proxy.setNetwork({ is: 'normal' })
    await service.recovery()
    await Promise.all([sql.end(), watcher.end(), service.stop()])
    await proxy.stop()
  })

  test('is opened if only the second host of DATABASE_URL answers', async () => {
    const url = own.url().replace('127.0.0.1', 'localhost:1,127.0.0.1')
    const credentials = await fill(url).catch(error => error)
    expect(credentials).toMatchObject({ token: expect.any(String) })
  })
})
