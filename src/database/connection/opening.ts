import { closedError, isTimeout } from '../failures.ts'
import { type Address, type PostgresUrl, SSL_MODES } from '../url.ts'
import { type Clock, SYSTEM_CLOCK } from './clock.ts'
import { Connection } from './connection.ts'
import { type Dial, dialPostgres } from './wire.ts'

/** By the clock: when servers did not answer in time, by their addresses. */
export type Silences = Map<string, number>

/** For so long a server that did not answer in time is tried after the others: each attempt would wait for it again. */
const SILENCE_MS = 60_000

interface OpenOptions {
  /** Parameters of the server that are left out where a pooler refuses them. */
  optional?: Record<string, string>
  dial?: Dial
  clock?: Clock
  /** Ends the attempt. */
  signal?: AbortSignal | undefined
  /** Of earlier attempts. Servers that do not answer are added. */
  silences?: Silences
}

/**
 * Opens a connection to the first server of a URL that answers and is of the kind asked for. Each server gets an equal
 * share of `timeoutMs`. Those that were silent lately come last. @throws the error of the last server
 */
export async function openFirst(
  url: PostgresUrl,
  timeoutMs: number,
  options: OpenOptions = {},
): Promise<Connection> {
  const { signal, clock = SYSTEM_CLOCK, silences = new Map() } = options
  const isSilent = (address: Address) =>
    clock.now() - (silences.get(JSON.stringify(address)) ?? Number.NEGATIVE_INFINITY) < SILENCE_MS
  const inTurn = [
    ...url.addresses.filter(address => !isSilent(address)),
    ...url.addresses.filter(address => isSilent(address)),
  ]
  let failure: unknown = closedError()
  /** Used if a standby is preferred and there is none. */
  let primary: Connection | undefined
  for (const address of inTurn) {
    // A primary that was found goes to whoever ended the attempt, to be closed.
    if (signal?.aborted) break
    try {
      const connection = await openAt(url, address, timeoutMs / url.addresses.length, options)
      if (url.target !== 'prefer-standby' || connection.isStandby) {
        void primary?.close()
        return connection
      }
      if (primary && !primary.isClosed) void connection.close()
      else primary = connection
    } catch (error) {
      failure = error
      if (isTimeout(error)) silences.set(JSON.stringify(address), clock.now())
    }
  }
  if (primary && !primary.isClosed) return primary
  throw failure
}

/** Codes after which the other attempt may succeed: no TLS offered, TLS required (pg_hba.conf), or no common cipher. */
const ABOUT_ENCRYPTION = /^(NOT_ENCRYPTED|28000|ECONNRESET|EPROTO|CONNECTION_CLOSED|ERR_SSL_\w+)$/

/** With and without encryption in the order of sslmode, and once more without the optional parameters. */
async function openAt(
  url: PostgresUrl,
  address: Address,
  timeoutMs: number,
  { optional, dial = dialPostgres, clock = SYSTEM_CLOCK, signal }: OpenOptions,
): Promise<Connection> {
  const deadline = clock.now() + timeoutMs
  let failure: unknown
  for (const isEncrypted of 'path' in address ? [false] : SSL_MODES[url.encryption.mode]) {
    const route = { address, ...(isEncrypted && { encryption: url.encryption }) }
    const openWith = (parameters: Record<string, string>) =>
      Connection.open({ url, route, parameters }, deadline - clock.now(), dial, clock, signal)
    try {
      return await openWith({ ...optional, ...url.parameters }).catch(error => {
        // PgBouncer accepts only parameters that it restores for the next client.
        if (error.code !== '08P01' || !/startup parameter/.test(error.message)) throw error
        return openWith(url.parameters)
      })
    } catch (error) {
      const { code = '' } = error as { code?: string }
      if (failure === undefined || code !== 'NOT_ENCRYPTED') failure = error
      if (!ABOUT_ENCRYPTION.test(code)) break
    }
  }
  throw failure
}
