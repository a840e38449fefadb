import { Failure } from '../errors.ts'

/** Why a server cannot be used and what an operator can do, by SQLSTATEs or by codes of the socket. */
const ADVICE: Record<string, string> = {
  ECONNREFUSED:
    'nothing listens there: is Postgres running, and are host and port of DATABASE_URL right? Then check it by axport doctor',
  'ENOTFOUND EAI_AGAIN': 'its host name cannot be resolved: is the host in DATABASE_URL right?',
  'ETIMEDOUT CONNECT_TIMEOUT':
    'it does not answer: is Postgres, or a pooler with a connection to spare, at host and port of DATABASE_URL, and may this machine reach it? Then check it by axport doctor',
  'EHOSTUNREACH ENETUNREACH':
    'its host cannot be reached: is the host in DATABASE_URL right, and is the network up?',
  NOT_ENCRYPTED:
    'it does not encrypt, which sslmode in DATABASE_URL asks for: turn on its ssl, or change sslmode',
  'ECONNRESET CONNECTION_CLOSED': 'it closed the connection: is it Postgres that listens there?',
  NOT_WANTED: 'no server of those in DATABASE_URL is of the kind that target_session_attrs asks for',
  ENOENT: 'its socket does not exist: is Postgres running, and is the path in DATABASE_URL right?',
  'SELF_SIGNED_CERT_IN_CHAIN DEPTH_ZERO_SELF_SIGNED_CERT UNABLE_TO_VERIFY_LEAF_SIGNATURE UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    'its certificate cannot be verified: name the file of its authority with sslrootcert in DATABASE_URL',
  CERT_HAS_EXPIRED: 'its certificate has expired: renew it',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name: is the host in DATABASE_URL right?',
  ERR_SSL: 'TLS with it fails: is it Postgres that listens there, and is sslnegotiation right for it?',
  '28P01':
    'it refuses the user or password in DATABASE_URL: correct it there, then check it by axport doctor',
  '28000': 'it refuses the user in DATABASE_URL, or a connection that is not encrypted (sslmode)',
  '3D000': 'it has no database of the name in DATABASE_URL: create it with createdb',
  '53300': 'it has no connection left: raise its max_connections, or stop something else',
  '57P01 57P02 57P03': 'it is starting up or shutting down: run the same command again in a moment',
  '42501': 'the user in DATABASE_URL lacks a privilege',
  '42704': 'it does not know a parameter in DATABASE_URL: remove what stands there after the "?"',
}

/** The same for what PgBouncer says, always with one SQLSTATE: by how the text begins. It may end in the server's own. */
const POOLER_ADVICE: [begin: string, advice: string][] = [
  [
    'server login has been failing',
    'its pooler reports that the server login has been failing: is Postgres running behind it? It tries again after its server_login_retry',
  ],
  [
    'query_wait_timeout',
    'its pooler had no connection to the server in time (query_wait_timeout): raise its default_pool_size, or stop something else',
  ],
  [
    'no more connections allowed',
    'its pooler takes no more clients (max_client_conn): raise that, or stop something else',
  ],
]

/** The SQLSTATE of everything that PgBouncer says itself. */
const PROTOCOL_VIOLATION = '08P01'

function adviceOn(error: unknown): string | undefined {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  if (code === PROTOCOL_VIOLATION) return POOLER_ADVICE.find(([begin]) => message.startsWith(begin))?.[1]
  const known = code.replace(/^ERR_SSL_.*/, 'ERR_SSL')
  return Object.entries(ADVICE).find(([codes]) => codes.split(' ').includes(known))?.[1]
}

/** Whether a server refuses one connection more, and may go on with those that are open: it has no other, or a new password. */
export function refusesMore(error: unknown): boolean {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  return /^(53300|28)/.test(code) || message.startsWith('no more connections allowed')
}

/** An error of a connection that axport itself finds. */
export const codedError = (code: string, message: string) => Object.assign(new Error(message), { code })
export const timeoutError = () => codedError('ETIMEDOUT', 'no answer in time')
export const closedError = () => codedError('CONNECTION_CLOSED', 'the connection was closed')
/** Of a connection that a signal to this process has ended. */
export const interruptedError = () => codedError('CONNECTION_INTERRUPTED', 'the command was interrupted')

/** Whether there was no answer in time. */
export const isTimeout = (error: unknown): boolean => (error as { code?: string }).code === 'ETIMEDOUT'

/** The one-line error for a connection that cannot be made; an unknown error is returned as it is. */
export function connectionFailure(error: unknown): unknown {
  const advice = adviceOn(error)
  return advice ? new Failure(`cannot reach the database: ${advice}`, { cause: error }) : error
}

/** Why a database could not be opened, as connectionFailure() said it, if that may pass without help. */
export function passingReason(failure: unknown): string | undefined {
  const error = failure instanceof Failure ? failure.cause : failure
  const { code, name } = (error ?? {}) as { code?: unknown; name?: string }
  const mayPass =
    name === 'PostgresError'
      ? /^(08(?!P01)|53|57P)/
      : /^(E(?!RR_|ACCES|PERM)[A-Z_]+|CONNECT_TIMEOUT|CONNECTION_\w+|NOT_WANTED)$/
  const isOfPooler = code === PROTOCOL_VIOLATION && adviceOn(error) !== undefined
  return isOfPooler || (typeof code === 'string' && mayPass.test(code)) ? reasonOf(error) : undefined
}

/** Why a database cannot be reached, for the log. The error's own text may quote names, and is never used. */
export function reasonOf(error: unknown): string {
  const { code } = error as { code?: string }
  if (code === 'CONNECTION_INTERRUPTED') return 'it was interrupted'
  if (code === 'CONNECTION_CLOSED' || code === 'ECONNRESET') return 'it closes connections'
  return adviceOn(error)?.split(':')[0] ?? `it refuses connections (${code ?? (error as Error).name})`
}

/** Why a statement of a command failed, on one line. Its text may name a full disk, and names no person. */
export function whyFailed(error: unknown): string {
  if (error instanceof Failure || verdictOn(error) !== 'cut')
    return (error as Error).message.replaceAll(/\s+/g, ' ')
  return reasonOf(error)
}

/** No statement can run now, or one was lost with its connection. Another attempt may succeed: 503. */
export class DatabaseUnavailable extends Error {
  constructor(
    readonly reason: string,
    readonly retryAfterSeconds = 1,
  ) {
    super(reason)
  }
}

/** No connection became free in time: 503, though the database is well. */
export class QueueTimeout extends DatabaseUnavailable {}

/** A statement took longer than STATEMENT_TIMEOUT: 504. */
export class StatementTimeout extends Error {}

/** The client has hung up. */
export class ClientGone extends Error {}

/** Whether a statement did not get a lock: it met lock_timeout, or a deadlock. */
export const isBlocked = (error: unknown): boolean =>
  ['55P03', '40P01'].includes(String((error as { code?: unknown }).code))

/** Whether row level security would have hidden rows from a statement, which Postgres refused by row_security = off. */
export function wouldHideRows(error: unknown): boolean {
  const { name, routine } = error as { name?: string; routine?: string }
  return name === 'PostgresError' && routine === 'check_enable_rls'
}

/** What happened to a statement that failed; unforeseen: the statement itself is wrong. */
export type Verdict = 'cut' | 'passing' | 'timeout' | 'read-only' | 'disk-full' | 'unforeseen'

/** Why a server refuses statements that are right: it is read-only, or short of something (SQLSTATE class 53). */
export type Refusal = 'read-only' | 'disk-full' | 'out-of-memory' | 'short'

/** The refusal that failed a statement; undefined for another failure. */
export function refusalOf(error: unknown): Refusal | undefined {
  const { code, name } = error as { code?: unknown; name?: string }
  if (name !== 'PostgresError' || typeof code !== 'string') return undefined
  if (code === '25006') return 'read-only'
  if (code === '53100') return 'disk-full'
  if (code === '53200') return 'out-of-memory'
  return code.startsWith('53') ? 'short' : undefined
}

/** Codes of the system, of postgres.js, and of TLS. Other ERR_ codes are wrong calls of a function. */
const SOCKET_CODE = /^(E[A-Z]+|CONNECTION_\w+|ERR_(SSL|TLS|SOCKET|STREAM)_\w+)$/

/** Codes of a file, also of a unix socket that cannot be opened. */
const FILE_CODE = /^E(NOENT|ACCES|PERM|EXIST|ISDIR|NOTDIR|NOSPC|DQUOT|ROFS|IO|MFILE|NFILE)$/

/** By SQLSTATE or its class (Postgres 18, appendix A), or by the code of the socket. */
export function verdictOn(error: unknown): Verdict {
  const { code, name, routine, syscall } = error as Record<'code' | 'name' | 'routine' | 'syscall', unknown>
  if (typeof code !== 'string') return 'unforeseen'
  if (FILE_CODE.test(code) && syscall !== 'connect') return 'unforeseen'
  if (name !== 'PostgresError') return SOCKET_CODE.test(code) ? 'cut' : 'unforeseen'
  if (code === '57014') return 'timeout'
  if (code === '25006') return 'read-only'
  // Statements that need no more disk, as most that read, still run.
  if (code === '53100') return 'disk-full'
  // The connection was lost: whether the statement ran is not known.
  if (/^(57P|08|25P03)/.test(code)) return 'cut'
  // A table has changed since the statement was prepared: postgres.js prepares it again, but in a failed transaction.
  if (code === '25P02' || routine === 'RevalidateCachedQuery') return 'passing'
  // It was rolled back: by a standby's replay, a deadlock or a shortage.
  return /^(53|40)/.test(code) ? 'passing' : 'unforeseen'
}
