import type { Parameters } from './client.ts'
import { type Clock, MACHINE } from './clock.ts'
import { Connection } from './connection.ts'
import { attemptsOf, isAboutEncryption } from './encryption.ts'
import { closed } from './timeouts.ts'
import type { Address, PostgresUrl } from './url.ts'
import { dialPostgres, type Start } from './wire.ts'

/**
 * Opens a connection to the first server of a URL that answers and is of the kind asked for. Every server has the same
 * share of the patience.
 * @param further parameters that the connection can do without, where a pooler refuses them
 * @param patience milliseconds
 * @param onEnd called once when it has ended, in whatever way
 * @throws the error of the last server that was tried
 */
export async function openFirst(
  url: PostgresUrl,
  further: Parameters,
  patience: number,
  onEnd: (connection: Connection) => void,
  dial = dialPostgres,
  clock = MACHINE,
): Promise<Connection> {
  const open = (start: Start, within: number) => Connection.open(start, within, onEnd, dial, clock)
  const share = patience / url.addresses.length
  let failure: unknown
  /** Taken where there is no standby, and a standby is only preferred. */
  let primary: Connection | undefined
  for (const address of url.addresses) {
    try {
      const connection = await openAt(url, address, further, share, open, clock)
      if (url.wanted !== 'prefer-standby' || connection.isStandby) {
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
  throw failure ?? closed()
}

/** With encryption or without, as sslmode has it. */
async function openAt(
  url: PostgresUrl,
  address: Address,
  further: Parameters,
  patience: number,
  open: (start: Start, patience: number) => Promise<Connection>,
  clock: Clock,
): Promise<Connection> {
  const deadline = clock.now() + patience
  const { encryption, parameters, prepare, wanted } = url
  const openWith = (isEncrypted: boolean, all: Parameters) => {
    const route = { address, ...(isEncrypted && { encryption }) }
    const start = { login: url, route, parameters: all, prepare, wanted }
    return open(start, deadline - clock.now())
  }
  let failure: unknown
  for (const isEncrypted of 'path' in address ? [false] : attemptsOf(encryption.mode)) {
    try {
      try {
        return await openWith(isEncrypted, { ...further, ...parameters })
      } catch (error) {
        if (!isParameterRefused(error)) throw error
        return await openWith(isEncrypted, parameters)
      }
    } catch (error) {
      if (failure === undefined || (error as { code?: string }).code !== 'NOT_ENCRYPTED') failure = error
      if (!isAboutEncryption(error)) break
    }
  }
  throw failure
}

/** PgBouncer takes those parameters alone that it restores for its next client. */
function isParameterRefused(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string }
  return code === '08P01' && /startup parameter/.test(message ?? '')
}
