import { closedError } from '../failures.ts'
import type { Parameters } from './client.ts'
import { type Clock, SYSTEM_CLOCK } from './clock.ts'
import { Connection } from './connection.ts'
import { isAboutEncryption, SSL_MODES } from './encryption.ts'
import type { Address, PostgresUrl } from './url.ts'
import { type Dial, dialPostgres } from './wire.ts'

interface OpenOptions {
  /** Parameters that are left out where a pooler refuses them. */
  optional?: Parameters
  dial?: Dial
  clock?: Clock
}

/**
 * Opens a connection to the first server of a URL that answers and is of the kind asked for. Each server gets an equal
 * share of `timeoutMs`.
 * @throws the error of the last server
 */
export async function openFirst(
  url: PostgresUrl,
  timeoutMs: number,
  { optional = {}, dial = dialPostgres, clock = SYSTEM_CLOCK }: OpenOptions = {},
): Promise<Connection> {
  const options = { optional, dial, clock }
  let failure: unknown
  /** Used if a standby is preferred and there is none. */
  let primary: Connection | undefined
  for (const address of url.addresses) {
    try {
      const connection = await openAt(url, address, timeoutMs / url.addresses.length, options)
      if (url.target !== 'prefer-standby' || connection.isStandby) {
        void primary?.close()
        return connection
      }
      if (primary && !primary.isOver) void connection.close()
      else primary = connection
    } catch (error) {
      failure = error
    }
  }
  if (primary && !primary.isOver) return primary
  throw failure ?? closedError()
}

/** With and without encryption in the order of sslmode, and once more without the optional parameters. */
async function openAt(
  url: PostgresUrl,
  address: Address,
  timeoutMs: number,
  { optional, dial, clock }: Required<OpenOptions>,
): Promise<Connection> {
  const deadline = clock.now() + timeoutMs
  let failure: unknown
  for (const isEncrypted of 'path' in address ? [false] : SSL_MODES[url.encryption.mode]) {
    const route = { address, ...(isEncrypted && { encryption: url.encryption }) }
    const openWith = (parameters: Parameters) =>
      Connection.open({ url, route, parameters }, deadline - clock.now(), dial, clock)
    try {
      return await openWith({ ...optional, ...url.parameters }).catch(error => {
        if (!isParameterRefused(error)) throw error
        return openWith(url.parameters)
      })
    } catch (error) {
      if (failure === undefined || (error as { code?: string }).code !== 'NOT_ENCRYPTED') failure = error
      if (!isAboutEncryption(error)) break
    }
  }
  throw failure
}

/** PgBouncer accepts only parameters that it restores for the next client. */
function isParameterRefused(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string }
  return code === '08P01' && /startup parameter/.test(message ?? '')
}
