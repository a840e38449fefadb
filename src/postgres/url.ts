import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { Failure } from '../errors.ts'

/** Where a server listens: host and port, or a unix socket. */
export type Address = { host: string; port: number } | { path: string }

/** DATABASE_URL=postgres://…, read. */
export interface PostgresUrl {
  /** For postgres.js: without what it does not know. */
  url: string
  /** Its hosts, in the order in which they are to be tried. */
  addresses: Address[]
  /** What the URL's sslrootcert asks for; undefined leaves sslmode to postgres.js. */
  ssl?: ConnectionOptions
}

const IS_URL =
  'DATABASE_URL (or what DATABASE_URL_FILE holds) must be postgres://user:password@host:port/name, or embedded:DIR'

/** Parameters of libpq that change nothing of what a connection does here. */
const HARMLESS = new Set([
  'fallback_application_name',
  'gssencmode',
  'keepalives',
  'keepalives_count',
  'keepalives_idle',
  'keepalives_interval',
  'sslcompression',
  'sslsni',
  'tcp_user_timeout',
])

/** Parameters of libpq that would have to change something, and what to do without them. */
const NOT_POSSIBLE: Record<string, string> = {
  channel_binding: 'take it away',
  dbname: 'write the name of the database after the host: postgres://user:password@host:port/name',
  gsslib: 'take it away',
  host: 'write the host before the "?", a socket folder as %2Frun%2Fpostgresql',
  hostaddr: 'write the address before the "?", in place of the host',
  krbsrvname: 'take it away',
  load_balance_hosts: 'take it away',
  passfile: 'write the password into the URL, or the URL into the file that DATABASE_URL_FILE names',
  password: 'write the password before the host: postgres://user:password@host:port/name',
  port: 'write the port after the host: postgres://user:password@host:port/name',
  require_auth: 'take it away',
  requirepeer: 'take it away',
  service: 'write out what the service stands for',
  servicefile: 'write out what the service stands for',
  ssl_max_protocol_version: 'take it away',
  ssl_min_protocol_version: 'take it away',
  sslcert: 'give the role a password: client certificates are not supported',
  sslcrl: 'take it away',
  sslcrldir: 'take it away',
  sslkey: 'give the role a password: client certificates are not supported',
  sslpassword: 'give the role a password: client certificates are not supported',
}

/**
 * Reads a URL of Postgres, several hosts (host1:port1,host2:port2) among what it may have.
 * @throws Failure that names what is wrong with it, never a secret
 */
export function readPostgresUrl(text: string): PostgresUrl {
  const [, hosts] = /^postgres(?:ql)?:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(text) ?? []
  if (hosts === undefined) throw new Failure(IS_URL)
  const [first = ''] = hosts.split(',')
  const single = text.replace(hosts, first)
  if (!URL.canParse(single)) throw new Failure(IS_URL)
  const [location = '', query = ''] = text.split('?')
  const { ssl, rest } = readParameters(new URLSearchParams(query))
  return {
    url: rest === '' ? location : `${location}?${rest}`,
    addresses: hosts.split(',').map(readAddress),
    ...(ssl && { ssl }),
  }
}

function readParameters(parameters: URLSearchParams): { ssl?: ConnectionOptions; rest: string } {
  for (const [name, value] of [...parameters]) {
    const isHarmless = HARMLESS.has(name) || (name === 'channel_binding' && value !== 'require')
    if (isHarmless) parameters.delete(name)
    else if (Object.hasOwn(NOT_POSSIBLE, name)) {
      throw new Failure(`DATABASE_URL has ${name}, which is not possible here: ${NOT_POSSIBLE[name]}`)
    }
  }
  const authority = parameters.get('sslrootcert')
  // postgres.js knows this one itself.
  if (!authority || authority === 'system') return { rest: parameters.toString() }
  const mode = parameters.get('sslmode')
  for (const name of ['sslrootcert', 'sslmode', 'ssl']) parameters.delete(name)
  // As libpq has it: with an authority at hand, "require" verifies too, but not the name.
  const isNameVerified = mode !== 'require' && mode !== 'verify-ca'
  return {
    ssl: {
      ca: readAuthority(authority),
      rejectUnauthorized: true,
      ...(!isNameVerified && { checkServerIdentity: () => undefined }),
    },
    rest: parameters.toString(),
  }
}

function readAuthority(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Failure(
      `sslrootcert in DATABASE_URL names ${file}, which cannot be read (${(error as { code?: string }).code})`,
    )
  }
}

const DEFAULT_PORT = 5432

function readAddress(text: string): Address {
  const [, name = '', port] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(text) ?? []
  const host = decoded(name.replace(/^\[(.*)\]$/, '$1')) || 'localhost'
  const number = port === undefined ? DEFAULT_PORT : Number(port)
  return host.startsWith('/') ? { path: `${host}/.s.PGSQL.${number}` } : { host, port: number }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Failure(IS_URL)
  }
}
