import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { checkEncryption } from '../../src/doctor/encryption-check.ts'
import { readPostgresUrl } from '../../src/postgres/connection/url.ts'
import { selfSigned } from '../support/certificate.ts'
import { type OwnCluster, startCluster } from '../support/cluster.ts'
import { detailOf } from '../support/doctor.ts'
import { encryptCluster } from '../support/encrypt-cluster.ts'
import { cleanUp, emptyFolder } from '../support/executable.ts'

let own: OwnCluster
let authority: string
beforeAll(async () => {
  own = await startCluster()
  const certificate = selfSigned('database')
  authority = join(emptyFolder(), 'root.crt')
  writeFileSync(authority, certificate.cert)
  await encryptCluster(own, certificate)
})
afterAll(async () => {
  await cleanUp()
  await own.stop()
})

/** The finding on a connection without TLS to a host. */
function without(hosts: string) {
  const [address] = readPostgresUrl(`postgres://${hosts}/d`).addresses
  return checkEncryption('encryption', { address: address as { path: string } }, 'DATABASE_URL')
}

describe('axport doctor', () => {
  test('warns of a connection without TLS that leaves the machine', async () => {
    // An address of RFC 5737, which belongs to nobody.
    expect(await without('192.0.2.1')).toEqual({
      check: 'encryption',
      status: 'warning',
      detail:
        'none, and the connection to 192.0.2.1 leaves this machine, so that the network can read and change the records: add sslmode=verify-full and sslrootcert=FILE to DATABASE_URL',
    })
    expect(await without('[2001:db8::1]')).toMatchObject({ status: 'warning' })
  })

  test.each(['localhost', '127.0.0.1', '127.1.2.3', '[::1]', hostname()])(
    'accepts a connection without TLS to %s, which is this machine',
    async host => {
      expect(await without(host)).toMatchObject({
        status: 'ok',
        detail: expect.stringMatching(/^none, .* within/),
      })
    },
  )

  test('accepts a unix socket', async () => {
    expect(await without('%2Frun%2Fpostgresql')).toMatchObject({
      status: 'ok',
      detail: 'none, on a unix socket',
    })
  })

  test('says whether the certificate was verified, for the connection that it has', async () => {
    const encryption = (parameters: string) => detailOf(`${own.url()}?${parameters}`, 'encryption')
    expect(await encryption('sslmode=allow')).toBe('none, on a connection within this machine')
    expect(await encryption('sslmode=prefer')).toBe('TLS, and any certificate is accepted (sslmode=prefer)')
    expect(await encryption(`sslmode=require&sslrootcert=${authority}`)).toBe(
      'TLS, and the certificate is verified, for any host',
    )
    expect(await encryption(`sslrootcert=${authority}`)).toBe(
      'TLS, and the certificate is verified for the host',
    )
  })
})
