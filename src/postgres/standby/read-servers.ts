import { Failure } from '../../errors.ts'
import { type Address, type PostgresUrl, readPostgresUrl } from '../connection/url.ts'

/** A server of DATABASE_READ_URL. */
export interface ReadServer {
  /** host:port, or the path of its socket: for people, and to tell it from the others on every process alike. */
  name: string
  /** Reads the setting again: a password may change. @throws Failure */
  url(): PostgresUrl
}

/**
 * The servers of DATABASE_READ_URL: each of its hosts is one of its own.
 * @throws Failure for a URL that is not one, or that asks for a primary
 */
export function readServers(read: () => string): ReadServer[] {
  const url = readUrl(read())
  if (url.wanted === 'primary' || url.wanted === 'read-write')
    throw new Failure(
      `target_session_attrs=${url.wanted} in DATABASE_READ_URL asks for a primary: take it away, only standbys are read from`,
    )
  const names = url.addresses.map(nameOf)
  const double = names.find((name, at) => names.indexOf(name) !== at)
  if (double !== undefined) throw new Failure(`DATABASE_READ_URL has ${double} twice: take one away`)
  return names.map(name => ({ name, url: () => urlOf(name, readUrl(read())) }))
}

function nameOf(address: Address): string {
  if ('path' in address) return address.path
  return `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`
}

function urlOf(name: string, url: PostgresUrl): PostgresUrl {
  const address = url.addresses.find(address => nameOf(address) === name)
  if (!address) throw new Failure(`DATABASE_READ_URL does not have ${name} any more: restart axport serve`)
  // Whether it is a standby is looked at, and said, beside what else makes it one to read from.
  return { ...url, addresses: [address], wanted: 'any' }
}

/** What is wrong with it is told in the words for DATABASE_URL. */
function readUrl(text: string): PostgresUrl {
  try {
    return readPostgresUrl(text)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new Failure(
      error.message.replaceAll('DATABASE_URL', 'DATABASE_READ_URL').replace(', or embedded:DIR', ''),
    )
  }
}
