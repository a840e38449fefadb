import { connect, isIP, type Socket } from 'node:net'
import { checkServerIdentity, connect as encrypt, type TLSSocket } from 'node:tls'
import { onTimeout } from '../timeouts.ts'
import { closedError, codedError, timeoutError } from './failures.ts'
import type { Encryption, ServerAddress } from './url.ts'

/** A way to a server. */
export interface Route {
  address: ServerAddress
  /** Undefined for a connection without TLS. */
  encryption?: Encryption
}

/** A server process as clients address it to cancel its statement. */
export interface Backend {
  pid: number
  secret: number
}

/** The kernel's first TCP keepalive probe: firewalls drop idle connections after minutes. */
const KEEP_ALIVE_MS = 30_000

const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const CANCEL_REQUEST = 80877102

/** The protocol name that direct TLS negotiates. */
const ALPN = 'postgresql'

/**
 * Opens a socket, with TLS or without, unless the signal ends the attempt.
 * @throws its error; codes NOT_ENCRYPTED, ETIMEDOUT, CONNECTION_CLOSED
 */
export async function openSocket(
  { address, encryption }: Route,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Socket> {
  if (signal?.aborted) throw closedError()
  const raw = 'path' in address ? connect(address.path) : connect(address.port, address.host)
  // An error without a listener would end the process.
  raw.on('error', () => {})
  const cancelTimeout = onTimeout(timeoutMs, () => raw.destroy(timeoutError()))
  const abort = () => raw.destroy(closedError())
  signal?.addEventListener('abort', abort, { once: true })
  try {
    await once(raw, 'connect')
    raw.setKeepAlive(true, KEEP_ALIVE_MS)
    return encryption && 'host' in address ? await encrypted(raw, encryption, address.host) : raw
  } catch (error) {
    raw.destroy()
    throw error
  } finally {
    cancelTimeout()
    signal?.removeEventListener('abort', abort)
  }
}

async function encrypted(raw: Socket, encryption: Encryption, host: string): Promise<TLSSocket> {
  const { mode, authority, isDirect } = encryption
  const notEncrypted = () => codedError('NOT_ENCRYPTED', 'the server does not encrypt')
  if (!isDirect) {
    raw.write(SSL_REQUEST)
    const answer = await once<Buffer>(raw, 'data')
    // Further bytes were injected before the handshake and would be taken for decrypted data (CVE-2021-23222).
    if (answer?.toString('latin1') !== 'S') throw notEncrypted()
  }
  const socket = encrypt({
    socket: raw,
    // The host name is sent (SNI), so that a proxy can route by it.
    ...(isIP(host) === 0 && { servername: host }),
    ...(isDirect && { ALPNProtocols: [ALPN] }),
    ...(authority !== undefined && { ca: authority }),
    rejectUnauthorized: mode.startsWith('verify-'),
    // By `host`, because servername is missing for an IP address.
    checkServerIdentity: (_, certificate) =>
      mode === 'verify-full' ? checkServerIdentity(host, certificate) : undefined,
  })
  socket.on('error', () => {})
  await once(socket, 'secureConnect')
  if (isDirect && socket.alpnProtocol !== ALPN) throw notEncrypted()
  return socket
}

/** The value of an event, unless the socket closes or fails first; leaves no listener behind. */
function once<Value>(socket: Socket, name: string): Promise<Value | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Value | undefined>()
  const onClose = () => reject(closedError())
  socket.once(name, resolve).once('error', reject).once('close', onClose)
  return promise.finally(() => socket.off(name, resolve).off('error', reject).off('close', onClose))
}

/**
 * Sends a CancelRequest and waits until the server closes the socket, as libpq does: the server has then sent the
 * signal. @throws if the server does not close the socket in time
 * @param route the connection's own: without its encryption the secret would be readable on the network
 */
export async function cancelBackend(route: Route, backend: Backend, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs
  const socket = await openSocket(route, timeoutMs)
  const message = Buffer.alloc(16)
  for (const [index, number] of [16, CANCEL_REQUEST, backend.pid, backend.secret].entries())
    message.writeUInt32BE(number >>> 0, index * 4)
  socket.resume().write(message)
  const cancelTimeout = onTimeout(deadline - performance.now(), () => socket.destroy(timeoutError()))
  await once(socket, 'close').finally(cancelTimeout)
}
