import { connect, type Socket } from 'node:net'
import { connect as encrypt, type TLSSocket } from 'node:tls'
import { ALPN, type Encryption, tlsOptions } from './encryption.ts'
import { closed, inTime } from './timeouts.ts'
import type { Address } from './url.ts'

/** A way to a server, which commands, requests, and requests to cancel take alike. */
export interface Route {
  address: Address
  /** Undefined for a connection in the clear. */
  encryption?: Encryption
}

/** Milliseconds after which the kernel asks whether the other end is still there: firewalls forget sooner than later. */
const KEEP_ALIVE = 30_000

/** A message in place of a start: its length and its code. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/**
 * Opens a socket to a server, over which its protocol begins.
 * @param patience milliseconds until it has to be open, and encrypted
 * @throws the error of the socket or of TLS; NOT_ENCRYPTED; ETIMEDOUT
 */
export async function openSocket({ address, encryption }: Route, patience: number): Promise<Socket> {
  const raw = 'path' in address ? connect(address.path) : connect(address.port, address.host)
  // Whoever reads it has a listener as well; until then an error must not end the process.
  raw.on('error', () => {})
  const opening = async () => {
    await once(raw, 'connect')
    raw.setKeepAlive(true, KEEP_ALIVE)
    return encryption && 'host' in address ? await encrypted(raw, encryption, address.host) : raw
  }
  try {
    return await inTime(patience, opening())
  } catch (error) {
    raw.destroy()
    throw error
  }
}

async function encrypted(raw: Socket, encryption: Encryption, host: string): Promise<TLSSocket> {
  if (!encryption.isDirect) {
    raw.write(SSL_REQUEST)
    const answer = await once<Buffer>(raw, 'data')
    // More than the one byte came from somebody in between, to be taken for what is encrypted.
    if (answer?.toString('latin1') !== 'S') throw notEncrypted()
  }
  const socket = encrypt({ socket: raw, ...tlsOptions(encryption, host) })
  socket.on('error', () => {})
  await once(socket, 'secureConnect')
  if (encryption.isDirect && socket.alpnProtocol !== ALPN) throw notEncrypted()
  return socket
}

/** The value of an event, before the socket ends or fails; no listener is left behind. */
function once<Value>(socket: Socket, name: string): Promise<Value | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Value | undefined>()
  const onClose = () => reject(closed())
  socket.once(name, resolve).once('error', reject).once('close', onClose)
  return promise.finally(() => {
    socket.off(name, resolve).off('error', reject).off('close', onClose)
  })
}

const notEncrypted = () => Object.assign(new Error('the server does not encrypt'), { code: 'NOT_ENCRYPTED' })
