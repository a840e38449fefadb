import { lookup } from 'node:dns/promises'
import { networkInterfaces } from 'node:os'
import { familyOf, readNetworks } from '../networks.ts'
import type { Route } from '../postgres/connection/socket.ts'
import type { Encryption } from '../postgres/connection/url.ts'
import { type Finding, ok, warning } from './finding.ts'

/**
 * Whether a connection to a database is encrypted, if it leaves this machine.
 * @param setting which has its URL
 */
export async function checkEncryption(check: string, route: Route, setting: string): Promise<Finding> {
  const { address, encryption } = route
  if ('path' in address) return ok(check, 'none, on a unix socket')
  if (encryption) return ok(check, `TLS, ${verification(encryption)}`)
  const { host } = address
  if (await isThisMachine(host)) return ok(check, 'none, on a connection within this machine')
  return warning(
    check,
    `none, and the connection to ${host} leaves this machine, so that the network can read and change the records: ` +
      `add sslmode=verify-full and sslrootcert=FILE to ${setting}`,
  )
}

function verification({ mode }: Encryption): string {
  if (mode === 'verify-full') return 'and the certificate is verified for the host'
  return mode === 'verify-ca'
    ? 'and the certificate is verified, for any host'
    : `and any certificate is accepted (sslmode=${mode})`
}

/** Whether a host name or an address leads to no other machine. */
async function isThisMachine(host: string): Promise<boolean> {
  const loopback = readNetworks('127.0.0.0/8, ::1')
  const own = Object.values(networkInterfaces()).flatMap(addresses => addresses ?? [])
  const found = await lookup(host, { all: true })
  return found.every(
    ({ address }) => loopback.check(address, familyOf(address)) || own.some(each => each.address === address),
  )
}
