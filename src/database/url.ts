import { Failure } from '../errors.ts'
import { readNamed } from '../files.ts'

/** Where a server listens: host and port, or a unix socket. */
export type Address = { host: string; port: number } | { path: string }

/** The values of sslmode in libpq: whether to encrypt, in the order of the attempts. */
export const SSL_MODES = {
  disable: [false],
  allow: [false, true],
  prefer: [true, false],
  require: [true],
  'verify-ca': [true],
  'verify-full': [true],
}

/** How TCP connections are encrypted. Unix sockets never are. */
export interface Encryption {
  mode: keyof typeof SSL_MODES
  /** Certificates of the authority, PEM; undefined for those that Bun trusts. */
  authority?: string
  /** TLS from the first byte, without an SSLRequest (sslnegotiation=direct, Postgres 17). */
  isDirect: boolean
}

/** What a server reports about itself. */
export interface ServerState {
  /** pg_is_in_recovery() */
  isStandby: boolean
  /** transaction_read_only: also true with default_transaction_read_only. */
  isReadOnly: boolean
}

/** The values of target_session_attrs in libpq, and which servers they accept. */
export const TARGETS = {
  any: () => true,
  'read-write': ({ isReadOnly }: ServerState) => !isReadOnly,
  'read-only': ({ isReadOnly }: ServerState) => isReadOnly,
  primary: ({ isStandby }: ServerState) => !isStandby,
  standby: ({ isStandby }: ServerState) => isStandby,
  // Only the order of the attempts differs.
  'prefer-standby': () => true,
}

/** The parts of DATABASE_URL=postgres://… */
export interface PostgresUrl {
  /** In the order of the attempts. */
  addresses: Address[]
  /** User, password and database as far as the URL names them; by default the user of this process, and its name. */
  login: { user?: string; password?: string; database?: string }
  encryption: Encryption
  target: keyof typeof TARGETS
  /** Whether commands may prepare statements. */
  prepare: boolean
  /** All other parameters of the query, which the server gets when the connection starts. */
  parameters: Record<string, string>
}

const NOT_A_URL =
  'DATABASE_URL (or what DATABASE_URL_FILE holds) must be postgres://user:password@host:port/name'

/** Parameters of libpq that change nothing in axport. */
const IGNORED =
  /^(connect_timeout|fallback_application_name|gssencmode|keepalives\w*|sslcompression|sslsni|tcp_user_timeout)$/

/** Parameters of libpq that axport does not support, and what to do instead. */
const UNSUPPORTED: [RegExp, string][] = [
  [/^(channel_binding|gsslib|krbsrvname|load_balance_hosts|require(_auth|peer))$/, 'remove it'],
  [/^(ssl_(max|min)_protocol_version|sslcrl(dir)?)$/, 'remove it'],
  [/^ssl(cert|key|password)$/, 'give the role a password: client certificates are not supported'],
  [/^passfile$/, 'write the password into the URL, or the URL into the file that DATABASE_URL_FILE names'],
  [/^(dbname|hostaddr|password|service(file)?)$/, 'write out postgres://user:password@host:port/name'],
]

/** user, password, hosts, database and query. */
const PARTS = /^postgres(?:ql)?:\/\/(?:([^/?#:]*)(?::([^/?#]*))?@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/

/** Whether a URL of Postgres has a password, which may have unescaped "/" and "@". */
export const hasPassword = (text: string) => /:\/\/[^?]*:[^?]+@/.test(text)

/** Reads a URL of Postgres with one host or several. @throws Failure that says what is wrong, without any secret */
export function readPostgresUrl(text: string): PostgresUrl {
  const [whole, user = '', password = '', hosts = '', database = '', query = ''] = PARTS.exec(text) ?? []
  if (whole === undefined) throw new Failure(NOT_A_URL)
  const login = Object.entries({ user, password, database }).filter(([, part]) => part !== '')
  const parameters = new URLSearchParams(query)
  for (const [name, value] of [...parameters]) {
    const isIgnored = IGNORED.test(name) || (name === 'channel_binding' && value !== 'require')
    const advice = UNSUPPORTED.find(([names]) => names.test(name))?.[1]
    if (isIgnored) parameters.delete(name)
    else if (advice) throw new Failure(`DATABASE_URL has ${name}, which axport does not support: ${advice}`)
  }
  // Each reader removes its parameters; the rest belongs to the server.
  return {
    addresses: readAddresses(hosts, parameters),
    login: Object.fromEntries(login.map(([name, part]) => [name, decoded(part)])),
    encryption: readEncryption(parameters),
    target: oneOf(TARGETS, 'target_session_attrs', parameters) ?? 'any',
    prepare: remove(parameters, 'prepare') !== 'false',
    parameters: Object.fromEntries(parameters),
  }
}

/** The value of a parameter, which is then removed; undefined if it is missing or empty. */
function remove(parameters: URLSearchParams, name: string): string | undefined {
  const value = parameters.get(name) || undefined
  parameters.delete(name)
  return value
}

/** The value of a parameter that has to be a key of `values`; undefined if it is missing. */
function oneOf<Values extends object>(
  values: Values,
  name: string,
  parameters: URLSearchParams,
  given = remove(parameters, name),
): keyof Values | undefined {
  if (given === undefined || Object.hasOwn(values, given)) return given as keyof Values | undefined
  throw new Failure(`${name} in DATABASE_URL must be one of ${Object.keys(values).join(', ')}`)
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

/** Hosts are before the "?" or, as libpq allows for socket folders, in parameters after it. */
function readAddresses(hosts: string, parameters: URLSearchParams): Address[] {
  const host = remove(parameters, 'host')
  const port = remove(parameters, 'port')
  if (host === undefined && port === undefined) return hosts.split(',').map(readAddress)
  if (hosts !== '')
    throw new Failure('DATABASE_URL has hosts or ports before the "?" and after it: remove one of them')
  const ports = port?.split(',') ?? []
  const names = (host ?? '').split(',')
  if (ports.length > 1 && ports.length !== names.length)
    throw new Failure('DATABASE_URL has more or fewer ports than hosts: give one for each, or one for all')
  return names.map((name, at) => addressOf(name, ports[at] ?? ports[0]))
}

function readAddress(text: string): Address {
  const url = URL.parse(`postgres://${text}/`)
  if (!url) throw new Failure(NOT_A_URL)
  return addressOf(decoded(url.hostname.replace(/^\[(.*)\]$/, '$1')), url.port)
}

function addressOf(host: string, text: string | undefined): Address {
  const port = Number(text || 5432)
  if (!(port >= 1 && port <= 65_535)) throw new Failure(NOT_A_URL)
  return host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host: host || 'localhost', port }
}

/** Without sslmode connections are not encrypted, unless sslrootcert names an authority. */
function readEncryption(parameters: URLSearchParams): Encryption {
  const file = remove(parameters, 'sslrootcert')
  const ssl = remove(parameters, 'ssl')
  const given = remove(parameters, 'sslmode') ?? { true: 'require', false: 'disable' }[ssl ?? ''] ?? ssl
  const mode = oneOf(SSL_MODES, 'sslmode', parameters, given) ?? (file ? 'verify-full' : 'disable')
  const isDirect = oneOf({ postgres: false, direct: true }, 'sslnegotiation', parameters) === 'direct'
  if (isDirect && ['disable', 'allow', 'prefer'].includes(mode))
    throw new Failure('sslnegotiation=direct in DATABASE_URL needs sslmode=require, verify-ca or verify-full')
  // As in libpq. Without the name, a certificate of a public authority proves nothing: anybody can get one.
  if (!file && mode === 'verify-ca')
    throw new Failure(
      "sslmode=verify-ca in DATABASE_URL needs sslrootcert=FILE, the server's authority; for a certificate of a public authority, use sslmode=verify-full",
    )
  if (!file) return { mode, isDirect }
  if (file === 'system') return { mode: 'verify-full', isDirect }
  // As in libpq: with sslrootcert, "require" verifies the authority, but not the name.
  const authority = readNamed(file, `sslrootcert in DATABASE_URL names ${file}, which`)
  return { mode: mode === 'require' ? 'verify-ca' : mode, authority, isDirect }
}
