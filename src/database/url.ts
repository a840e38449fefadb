import { userInfo } from 'node:os'
import { Failure } from '../errors.ts'
import { readNamed } from '../files.ts'
import { type Method, passwordOf } from './password.ts'
import { NOT_A_URL, Parameters } from './url-parameters.ts'

/** Where a server listens: host and port, or a unix socket. */
export type ServerAddress = { host: string; port: number } | { path: string }

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
  addresses: ServerAddress[]
  /** By default the user of this process, and the database of its name. */
  login: { user: string; database: string; password?: (method: Method) => Buffer }
  encryption: Encryption
  target: keyof typeof TARGETS
  /** Whether commands may prepare statements. */
  prepare: boolean
  /** What the server gets when the connection starts. */
  parameters: Record<string, string>
}

/** Parameters of libpq that the server gets. */
const OF_SERVER = ['application_name', 'options']

/** User, password, hosts, database and query, as libpq finds them: it knows no fragment. */
const PARTS = /^postgres(?:ql)?:\/\/(?:([^@/:]*)(?::([^@/]*))?@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/s

/** Reads a URL of Postgres with one host or several. @throws Failure that says what is wrong, without any secret */
export function readPostgresUrl(text: string): PostgresUrl {
  const [whole, user = '', password = '', hosts = '', dbname = '', query = ''] = PARTS.exec(text) ?? []
  if (whole === undefined) throw new Failure(NOT_A_URL)
  const { host, port } = authorityOf(hosts)
  const given = new Parameters({ user, password, host, port, dbname }, query)
  const addresses = readAddresses(given.take('host'), given.take('port'))
  const login = readLogin(given)
  const encryption = readEncryption(given)
  const target = oneOf(TARGETS, 'target_session_attrs', given.take('target_session_attrs')) ?? 'any'
  const prepare = given.take('prepare') !== 'false'
  const parameters: Record<string, string> = {}
  for (const name of OF_SERVER) {
    const value = given.take(name)
    if (value !== undefined) parameters[name] = value
  }
  given.refuseOthers()
  return { addresses, login, encryption, target, prepare, parameters }
}

/** The value that has to be a key of `values`; undefined if it is missing. */
function oneOf<Values extends object>(
  values: Values,
  name: string,
  given: string | undefined,
): keyof Values | undefined {
  if (given === undefined || Object.hasOwn(values, given)) return given as keyof Values | undefined
  throw new Failure(`${name} in DATABASE_URL must be one of ${Object.keys(values).join(', ')}`)
}

/** Hosts and ports, each as a list with commas: before the "?" they alternate. */
function authorityOf(hosts: string): { host: string; port: string } {
  const each = hosts.split(',').map(text => /^(?:\[([^\]]+)\]|([^[:]*))(?::(.*))?$/.exec(text))
  if (each.some(found => found === null)) throw new Failure(NOT_A_URL)
  const host = each.map(found => found?.[1] ?? found?.[2]).join()
  return { host, port: each.some(found => found?.[3]) ? each.map(found => found?.[3]).join() : '' }
}

/** One port serves for all hosts. */
function readAddresses(host = '', port = ''): ServerAddress[] {
  const [hosts, ports] = [host.split(','), port.split(',')]
  if (ports.length > 1 && ports.length !== hosts.length)
    throw new Failure('DATABASE_URL has more or fewer ports than hosts: give one for each, or one for all')
  return hosts.map((name, at) => addressOf(name, ports[ports.length > 1 ? at : 0]))
}

function addressOf(host: string, text: string | undefined): ServerAddress {
  const port = /^\d*$/.test(text ?? '') ? Number(text || 5432) : Number.NaN
  if (!(port >= 1 && port <= 65_535) || host.includes('@')) throw new Failure(NOT_A_URL)
  return host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host: host || 'localhost', port }
}

function readLogin(given: Parameters): PostgresUrl['login'] {
  const user = given.take('user') ?? userOfProcess()
  const password = given.takeBytes('password')
  const database = given.take('dbname') ?? user
  return { user, database, ...(password && { password: passwordOf(password) }) }
}

function userOfProcess(): string {
  try {
    return userInfo().username
  } catch {
    throw new Failure(
      'DATABASE_URL names no user, and the user of this process has no name: add one, postgres://user@…',
    )
  }
}

/** Without sslmode connections are not encrypted, unless sslrootcert names an authority. */
function readEncryption(given: Parameters): Encryption {
  const file = given.take('sslrootcert')
  const mode = oneOf(SSL_MODES, 'sslmode', given.take('sslmode')) ?? (file ? 'verify-full' : 'disable')
  const isDirect =
    oneOf({ postgres: false, direct: true }, 'sslnegotiation', given.take('sslnegotiation')) === 'direct'
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
