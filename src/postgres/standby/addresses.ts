import { Failure } from '../../errors.ts'
import { type Address, type PostgresUrl, readPostgresUrl } from '../connection/url.ts'

/** A server of DATABASE_READ_URL. */
export interface StandbyAddress {
  /** host:port, or the path of its socket: the same on every process. */
  name: string
  /** Reads the setting again, because a password may change. @throws Failure */
  url(): PostgresUrl
}

/**
 * The servers of DATABASE_READ_URL, one for each host.
 * @throws Failure for an invalid URL, or one that asks for a primary
 */
export function standbyAddresses(read: () => string): StandbyAddress[] {
  const url = readUrl(read())
  if (url.target === 'primary' || url.target === 'read-write')
    throw new Failure(
      `target_session_attrs=${url.target} in DATABASE_READ_URL asks for a primary: remove it, only standbys are read from`,
    )
  const names = url.addresses.map(nameOf)
  const double = names.find((name, at) => names.indexOf(name) !== at)
  if (double !== undefined) throw new Failure(`DATABASE_READ_URL has ${double} twice: remove one`)
  return names.map(name => ({ name, url: () => urlOf(name, readUrl(read())) }))
}

function nameOf(address: Address): string {
  if ('path' in address) return address.path
  return `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`
}

function urlOf(name: string, url: PostgresUrl): PostgresUrl {
  const address = url.addresses.find(address => nameOf(address) === name)
  if (!address) throw new Failure(`DATABASE_READ_URL does not have ${name} any more: restart axport serve`)
  // Whether the server is a standby is checked and reported with the other conditions.
  return { ...url, addresses: [address], target: 'any' }
}

function readUrl(text: string): PostgresUrl {
  try {
    return readPostgresUrl(text)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const message = error.message.replaceAll('DATABASE_URL', 'DATABASE_READ_URL')
    throw new Failure(message.replace(', or embedded:DIR', ''))
  }
}
