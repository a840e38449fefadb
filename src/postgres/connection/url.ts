import { readFileSync } from 'node:fs'
import { Failure } from '../../errors.ts'
import { type Encryption, isSslMode, SSL_MODES } from './encryption.ts'
import { isWanted, WANTED, type Wanted } from './session.ts'

/** Where a server listens: host and port, or a unix socket. */
export type Address = { host: string; port: number } | { path: string }

/** DATABASE_URL=postgres://…, read. */
export interface PostgresUrl {
  /** Its hosts, in the order in which they are to be tried. */
  addresses: Address[]
  /** Undefined where the URL leaves it out: the user of this process. */
  user: string | undefined
  password: string | undefined
  /** Undefined where the URL leaves it out: named as the user. */
  database: string | undefined
  encryption: Encryption
  /** Which of the servers will do: target_session_attrs. */
  wanted: Wanted
  /** Whether commands may prepare statements. */
  prepare: boolean
  /** What is left of the query: parameters that the server is sent at the start. */
  parameters: Record<string, string>
}

const IS_URL =
  'DATABASE_URL (or what DATABASE_URL_FILE holds) must be postgres://user:password@host:port/name, or embedded:DIR'

/** Parameters of libpq that change nothing of what a connection does here. */
const HARMLESS = new Set([
  'connect_timeout',
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
  hostaddr: 'write the address before the "?", in place of the host',
  krbsrvname: 'take it away',
  load_balance_hosts: 'take it away',
  passfile: 'write the password into the URL, or the URL into the file that DATABASE_URL_FILE names',
  password: 'write the password before the host: postgres://user:password@host:port/name',
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

/** user:password, hosts, database and query. */
const PARTS = /^postgres(?:ql)?:\/\/(?:([^/?#]*)@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/

/**
 * Reads a URL of Postgres, several hosts (host1:port1,host2:port2) among what it may have.
 * @throws Failure that names what is wrong with it, never a secret
 */
export function readPostgresUrl(text: string): PostgresUrl {
  const [whole, credentials = '', hosts = '', database = '', query = ''] = PARTS.exec(text) ?? []
  if (whole === undefined) throw new Failure(IS_URL)
  const [, user = '', password = ''] = /^([^:]*)(?::(.*))?$/s.exec(credentials) ?? []
  const parameters = new URLSearchParams(query)
  for (const [name, value] of [...parameters]) {
    const isHarmless = HARMLESS.has(name) || (name === 'channel_binding' && value !== 'require')
    if (isHarmless) parameters.delete(name)
    else if (Object.hasOwn(NOT_POSSIBLE, name)) {
      throw new Failure(`DATABASE_URL has ${name}, which is not possible here: ${NOT_POSSIBLE[name]}`)
    }
  }
  // Each takes its parameters away; what is left is the server's.
  return {
    addresses: readAddresses(hosts, parameters),
    user: decoded(user) || undefined,
    password: decoded(password) || undefined,
    database: decoded(database) || undefined,
    encryption: readEncryption(parameters),
    wanted: readWanted(parameters),
    prepare: taken(parameters, 'prepare') !== 'false',
    parameters: Object.fromEntries(parameters),
  }
}

/** The value of a parameter, which is no parameter of the server. */
function taken(parameters: URLSearchParams, name: string): string | undefined {
  const value = parameters.get(name) || undefined
  parameters.delete(name)
  return value
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Failure(
      'DATABASE_URL has a % that begins no escape: write a % in a user name or password as %25',
    )
  }
}

const DEFAULT_PORT = 5432

/** Hosts stand before the "?" or, as libpq has it for socket folders, in parameters after it. */
function readAddresses(hosts: string, parameters: URLSearchParams): Address[] {
  const host = taken(parameters, 'host')
  const port = taken(parameters, 'port')
  if (hosts !== '' && (host ?? port) !== undefined) {
    throw new Failure('DATABASE_URL has hosts or ports before the "?" and after it: take one of them away')
  }
  if (host === undefined && port === undefined) return hosts.split(',').map(readAddress)
  const ports = (port ?? String(DEFAULT_PORT)).split(',')
  const names = (host ?? '').split(',')
  if (ports.length > 1 && ports.length !== names.length) {
    throw new Failure('DATABASE_URL has more or fewer ports than hosts: give one for each, or one for all')
  }
  return names.map((name, at) => addressOf(name, ports.length > 1 ? ports[at] : ports[0]))
}

function readAddress(text: string): Address {
  const [whole, name = '', port] = /^(\[[^\]]*\]|[^:[\]]*)(?::(\d*))?$/.exec(text) ?? []
  if (whole === undefined || !URL.canParse(`postgres://${text}/`)) throw new Failure(IS_URL)
  return addressOf(decoded(name.replace(/^\[(.*)\]$/, '$1')), port)
}

function addressOf(host: string, text: string | undefined): Address {
  const port = Number(text || DEFAULT_PORT)
  if (!(port >= 1 && port <= 65_535)) throw new Failure(IS_URL)
  return host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host: host || 'localhost', port }
}

function readWanted(parameters: URLSearchParams): Wanted {
  const value = taken(parameters, 'target_session_attrs') ?? 'any'
  if (isWanted(value)) return value
  throw new Failure(`target_session_attrs in DATABASE_URL must be one of ${WANTED.join(', ')}`)
}

/** Without sslmode nothing is encrypted, unless an authority is named. */
function readEncryption(parameters: URLSearchParams): Encryption {
  const authority = taken(parameters, 'sslrootcert')
  const ssl = taken(parameters, 'ssl')
  const given = taken(parameters, 'sslmode') ?? { true: 'require', false: 'disable' }[ssl ?? ''] ?? ssl
  const mode = given ?? (authority ? 'verify-full' : 'disable')
  if (!isSslMode(mode)) throw new Failure(`sslmode in DATABASE_URL must be one of ${SSL_MODES.join(', ')}`)
  const negotiation = taken(parameters, 'sslnegotiation') ?? 'postgres'
  const isDirect = negotiation === 'direct'
  if (!isDirect && negotiation !== 'postgres')
    throw new Failure('sslnegotiation in DATABASE_URL must be one of postgres, direct')
  if (isDirect && ['disable', 'allow', 'prefer'].includes(mode))
    throw new Failure('sslnegotiation=direct in DATABASE_URL needs sslmode=require, verify-ca or verify-full')
  if (!authority) return { mode, isDirect }
  // The authorities that every machine trusts sign certificates for anybody: without the name that proves nothing.
  if (authority === 'system') return { mode: 'verify-full', isDirect }
  // As libpq has it: with an authority at hand, "require" verifies too, but not the name.
  return { mode: mode === 'require' ? 'verify-ca' : mode, authority: readAuthority(authority), isDirect }
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
