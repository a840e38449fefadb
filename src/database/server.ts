import { onTimeout, READ_GRACE_MS } from '../timeouts.ts'
import { Client, type ClientOptions, type Start } from './client.ts'
import { closedError, codedError, isTimeout, timeoutError } from './failures.ts'
import type { Route } from './socket.ts'
import { onlyRow } from './statement.ts'
import { type PostgresUrl, type ServerAddress, type ServerState, SSL_MODES, TARGETS } from './url.ts'
import { VALUE_TYPES } from './value-types.ts'

/** What a server says of itself. */
export interface State extends ServerState {
  /** The process that has answered. */
  pid: number
  /** When the server was started, to the microsecond, which identifies it. */
  startedAt: string
}

/** A server that has answered, and how further clients of it are opened. */
export interface Server {
  start: Start
  state: State
  /** Whether a pooler is in between: then every statement may run in another process. */
  isPooled: boolean
  /** The one that found the server. */
  client: Client
}

interface FindOptions {
  /** Parameters of the server, which are left out where it or a pooler refuses them. */
  optional?: Record<string, string>
  /** Instead of that of the URL. */
  password?: PostgresUrl['login']['password']
  /** For the client that finds it. */
  client?: ClientOptions
}

/**
 * Finds the first server of a URL that answers and is of the kind asked for. Each gets an equal share of `timeoutMs`.
 * @throws the error of the last server; codes ETIMEDOUT, NOT_WANTED, NOT_ENCRYPTED
 */
export async function findServer(
  url: PostgresUrl,
  timeoutMs: number,
  options: FindOptions = {},
): Promise<Server> {
  if (url.target === 'prefer-standby') {
    const find = (target: 'standby' | 'any') => findServer({ ...url, target }, timeoutMs / 2, options)
    return await find('standby').catch(() => find('any'))
  }
  let failure: unknown = closedError()
  for (const address of url.addresses) {
    try {
      return await findAt(url, address, timeoutMs / url.addresses.length, options)
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

/** Codes after which the other attempt may succeed: no TLS offered, TLS required (pg_hba.conf), or no common cipher. */
const ABOUT_ENCRYPTION = /^(NOT_ENCRYPTED|28000|ECONNRESET|EPROTO|CONNECTION_CLOSED|ERR_SSL_\w+)$/

const INVALID_PARAMETER_VALUE = '22023'

/** With and without encryption in the order of sslmode, and once more without the optional parameters. */
async function findAt(
  url: PostgresUrl,
  address: ServerAddress,
  timeoutMs: number,
  { optional = {}, password, client }: FindOptions,
): Promise<Server> {
  const deadline = performance.now() + timeoutMs
  let failure: unknown
  for (const isEncrypted of 'path' in address ? [false] : SSL_MODES[url.encryption.mode]) {
    const route: Route = { address, ...(isEncrypted && { encryption: url.encryption }) }
    const findWith = (parameters: Record<string, string>) =>
      ask({ url, route, parameters, password }, deadline - performance.now(), client)
    try {
      return await findWith({ ...optional, ...url.parameters }).catch(error => {
        // PgBouncer accepts only parameters that it restores for the next client.
        const isOfPooler = error.code === '08P01' && /startup parameter/.test(error.message)
        // A server on Windows cannot look for clients that have gone.
        if (!isOfPooler && error.code !== INVALID_PARAMETER_VALUE) throw error
        return findWith(url.parameters)
      })
    } catch (error) {
      const { code = '' } = error as { code?: string }
      if (failure === undefined || code !== 'NOT_ENCRYPTED') failure = error
      if (!ABOUT_ENCRYPTION.test(code)) break
    }
  }
  throw failure
}

async function ask(start: Start, timeoutMs: number, options?: ClientOptions): Promise<Server> {
  const client = new Client(start, timeoutMs, { max: 1, fetch_types: false, ...options })
  try {
    const { state, announced } = await stateOf(client, start.url.target, timeoutMs)
    // A pooler invents the process of the protocol.
    return { start, state, isPooled: state.pid !== announced, client }
  } catch (error) {
    // A pooler answers, and has no server free.
    if (client.pids.length > 0 && isTimeout(error)) Object.assign(error as object, { hasLoggedIn: true })
    client.destroy()
    throw error
  }
}

const STATE = `
  select pg_backend_pid() as pid, extract(epoch from pg_postmaster_start_time())::text as "startedAt",
    pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "isReadOnly"`

/**
 * Asks a server for its state, and which process the protocol announced.
 * @throws code NOT_WANTED if it is not of the kind that target_session_attrs names; ETIMEDOUT, the errors of a connection
 */
export async function stateOf(client: Client, target: PostgresUrl['target'], timeoutMs: number) {
  const rows = (await inTime(timeoutMs, client.sql.unsafe(STATE))) as State[] & { state: { pid: number } }
  const state = onlyRow(rows)
  if (!TARGETS[target](state))
    throw codedError('NOT_WANTED', 'the server is not of the kind that target_session_attrs names')
  return { state, announced: rows.state.pid }
}

/** @throws ETIMEDOUT */
async function inTime<Result>(timeoutMs: number, work: PromiseLike<Result>): Promise<Result> {
  const late = Promise.withResolvers<never>()
  const cancelTimeout = onTimeout(timeoutMs, () => late.reject(timeoutError()))
  return await Promise.race([work, late.promise]).finally(cancelTimeout)
}

/** Nothing waits behind a statement of another request. With this option, postgres.js cannot begin(). */
export const SERVING_CLIENT: ClientOptions = { max_pipeline: 0, fetch_types: false, types: VALUE_TYPES }

/** A further client of a server. Behind a pooler it prepares nothing: another process may run the next statement. */
export function openClient({ start, isPooled }: Server, timeoutMs: number, options: ClientOptions): Client {
  const url = { ...start.url, prepare: start.url.prepare && !isPooled }
  return new Client({ ...start, url }, timeoutMs, options)
}

/** How many connections of `most` answer within `timeoutMs`: a pooler may have fewer servers, and lets the others wait. */
export async function measure(server: Server, most: number, timeoutMs: number): Promise<number> {
  const client = openClient(server, timeoutMs, { ...SERVING_CLIENT, max: most })
  let answers = 0
  const each = Array.from({ length: most }, () => client.sql.unsafe('select 1').then(() => answers++))
  await inTime(timeoutMs, Promise.allSettled(each)).catch(() => {})
  client.destroy()
  return answers
}

/**
 * Notes which processes of a client this server has. Of the silent statements of the client, ends those that will never get an answer, with their connections: a network has
 * dropped them, and their process has finished, has never got the statement, or cannot send its answer.
 * @param silentMs for how long the process must have waited for its client
 */
export async function cutStale(server: Server, client: Client, silentMs: number): Promise<void> {
  const silent = client.silent(silentMs)
  const { pids, seen } = client
  if (silent.length === 0 && seen.length === pids.length) return
  const rows = await inTime(silentMs, server.client.sql.unsafe(activityOf(pids)))
  client.noteSeen(rows.map(({ pid }) => pid as number))
  // Behind one address may be several servers, and this may be another one, which has never had these processes.
  if (rows.length === 0 && seen.length === 0) return
  const waitedMs = new Map(rows.map(({ pid, waited }) => [pid as number, Number(waited ?? 0)]))
  // Their answers may have arrived with this one, and wait to be read.
  await Bun.sleep(READ_GRACE_MS)
  // A process that no longer exists does not work either.
  for (const { pid } of client.silent(silentMs).filter(sent => silent.includes(sent)))
    if ((waitedMs.get(pid() ?? 0) ?? Number.POSITIVE_INFINITY) > silentMs) client.cut(pid(), closedError())
}

const activityOf = (pids: number[]) => `
  select pid, case when wait_event in ('ClientRead', 'ClientWrite')
    then extract(epoch from clock_timestamp() - state_change) * 1000 end as waited
  from pg_stat_activity where pid in (${pids.join(', ')})`
