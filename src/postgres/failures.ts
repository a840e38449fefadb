import { Failure } from '../errors.ts'

const UNVERIFIED =
  'its certificate cannot be verified: name the file of its authority with sslrootcert in DATABASE_URL'

/** What an operator can do about a database that refuses, by SQLSTATE or by the error of the socket. */
const ADVICE: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there: is Postgres running, and are host and port of DATABASE_URL right?',
  ENOTFOUND: 'its host name is not known: is the host in DATABASE_URL right?',
  EAI_AGAIN: 'its host name cannot be resolved right now: is the host in DATABASE_URL right?',
  ETIMEDOUT: 'it does not answer: is the host in DATABASE_URL right, and may this machine reach it?',
  EHOSTUNREACH: 'no way leads to its host: is the host in DATABASE_URL right, and is the network up?',
  ENETUNREACH: 'no way leads to its host: is the host in DATABASE_URL right, and is the network up?',
  NOT_ENCRYPTED:
    'it does not encrypt, which sslmode in DATABASE_URL asks for: turn on its ssl, or change sslmode',
  CONNECT_TIMEOUT: 'it does not answer: is the host in DATABASE_URL right, and may this machine reach it?',
  NO_ANSWER:
    'it does not answer: is it Postgres at host and port of DATABASE_URL, or a pooler with a connection to spare?',
  ECONNRESET: 'it closed the connection: is it Postgres that listens there?',
  CONNECTION_CLOSED: 'it closed the connection: is it Postgres that listens there?',
  NOT_WANTED: 'no server of those in DATABASE_URL is of the kind that target_session_attrs asks for',
  NO_STANDBY: 'it is no standby of the primary',
  ENOENT: 'its socket does not exist: is Postgres running, and is the path in DATABASE_URL right?',
  SELF_SIGNED_CERT_IN_CHAIN: UNVERIFIED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNVERIFIED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNVERIFIED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNVERIFIED,
  CERT_HAS_EXPIRED: 'its certificate has expired: renew it',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name: is the host in DATABASE_URL right?',
  '28P01': 'it refuses the user or password in DATABASE_URL',
  '28000': 'it refuses the user in DATABASE_URL, or a connection that is not encrypted (sslmode)',
  '3D000': 'it has no database of the name in DATABASE_URL: create it with createdb',
  '53300': 'it has no connection left: raise its max_connections, or stop something else',
  '57P01': 'it is shutting down',
  '57P02': 'it has crashed and is recovering',
  '57P03': 'it is starting up or shutting down: try again in a moment',
  '42501': 'the user in DATABASE_URL lacks a privilege',
  '42704': 'it does not know a parameter in DATABASE_URL: take away what stands there after the "?"',
}

const BROKEN_TLS = 'TLS with it fails: is it Postgres that listens there, and is sslnegotiation right for it?'

function adviceOn(code: string | undefined): string | undefined {
  if (code === undefined) return undefined
  return code.startsWith('ERR_SSL_') ? BROKEN_TLS : ADVICE[code]
}

/** The one-line error for a connection that could not be made; an unknown error comes back as it is. */
export function connectionFailure(error: unknown): unknown {
  const advice = adviceOn((error as { code?: string }).code)
  return advice ? new Failure(`cannot reach the database: ${advice}`, { cause: error }) : error
}

/**
 * Why a database could not be opened, in words for the log, where that may pass by itself: nothing answers yet, or
 * the server starts, stops or is full. Undefined for what somebody has to mend: a password, a name, a certificate.
 * @param failure what connectionFailure() gave
 */
export function passingReason(failure: unknown): string | undefined {
  const error = failure instanceof Failure ? failure.cause : failure
  const { code } = (error ?? {}) as { code?: unknown }
  if (typeof code !== 'string') return undefined
  const mayPass =
    (error as Error).name === 'PostgresError'
      ? /^(08(?!P01)|53|57P)/.test(code)
      : /^(E(?!RR_|ACCES|PERM)[A-Z_]+|CONNECT_TIMEOUT|CONNECTION_\w+|NO_ANSWER|NOT_WANTED)$/.test(code)
  return mayPass ? reasonOf(error) : undefined
}

/** Why a database cannot be reached, in words for the log: never its own text, which may quote names. */
export function reasonOf(error: unknown): string {
  const { code } = error as { code?: string }
  if (code === 'CONNECTION_CLOSED' || code === 'ECONNRESET') return 'it closes connections'
  return adviceOn(code)?.split(':')[0] ?? `it refuses connections (${code ?? (error as Error).name})`
}

/** No statement can be run now, or one was lost on its way; another attempt may succeed: 503. */
export class DatabaseUnavailable extends Error {
  constructor(
    readonly reason: string,
    /** Seconds after which another attempt makes sense. */
    readonly retryAfter = 1,
  ) {
    super(reason)
  }
}

/** A statement that waited made room for one of somebody else: 503, and no trouble of the database. */
export class Displaced extends DatabaseUnavailable {}

/** All connections are in use, and none got free in time: 503. The server answers, and others wait for it as well. */
export class Crowded extends DatabaseUnavailable {}

/** A statement took longer than it may: 504. */
export class StatementTimeout extends Error {}

/** The client has hung up, so that nobody waits for the rows. */
export class ClientGone extends Error {}

/** Whether nothing was heard for too long. */
export function isSilence(error: unknown): boolean {
  const { code } = error as { code?: string }
  return code === 'ETIMEDOUT' || code === 'NO_ANSWER'
}

/** What became of a statement that failed. */
export type Verdict =
  /** Its connection went away: whether it ran is not known. */
  | 'cut'
  /** It was rolled back for a reason that passes: a standby's replay, a deadlock, a server short of something. */
  | 'passing'
  | 'timeout'
  | 'read-only'
  /** The server's disk is full. What needs no more of it, as most reading, goes on. */
  | 'disk-full'
  /** The statement itself is wrong. */
  | 'unforeseen'

/** By SQLSTATE, what a server ran short of while it worked on a statement; class 53. */
const SHORTAGES: Record<string, string> = {
  '53100': 'the disk of the database is full: no tokens can be issued',
  '53200': 'the database is out of memory',
  '53400': 'the database has reached a limit of its configuration',
}

/** What the server was short of when it refused a statement, in words; undefined when that was not the reason. */
export function shortageOf(error: unknown): string | undefined {
  const { code, name } = error as { code?: unknown; name?: string }
  if (name !== 'PostgresError' || typeof code !== 'string' || !code.startsWith('53')) return undefined
  return SHORTAGES[code] ?? `the database is short of something (${code})`
}

/** Codes of the system, of postgres.js, and of TLS. Other codes with ERR_ are wrong calls of a function. */
const OF_THE_SOCKET = /^(E[A-Z]+|CONNECTION_\w+|ERR_(SSL|TLS|SOCKET|STREAM)_\w+)$/

/** By SQLSTATE, its class, or the socket's error; Postgres 18, appendix A. */
export function verdictOn(error: unknown): Verdict {
  const { code, name } = error as { code?: unknown; name?: string }
  if (typeof code !== 'string') return 'unforeseen'
  if (name !== 'PostgresError') return OF_THE_SOCKET.test(code) ? 'cut' : 'unforeseen'
  if (code === '57014') return 'timeout'
  if (code === '25006') return 'read-only'
  if (code === '53100') return 'disk-full'
  if (/^(57P|08)/.test(code)) return 'cut'
  if (/^(53|40)/.test(code)) return 'passing'
  return 'unforeseen'
}
