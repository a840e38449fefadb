import { isIP, connect as openSocket, type Socket } from 'node:net'
import { type ConnectionOptions, connect as encrypt } from 'node:tls'
import type { Address } from './url.ts'

/** How a server knows the process behind a connection. */
export interface Backend {
  pid: number
  secret: number
}

/** Messages that are sent in place of a start: their length and their code. */
const CANCEL_REQUEST = 80877102
const SSL_REQUEST = 80877103

/**
 * Asks a server to end the statement that a process is running (protocol: "Canceling Requests in Progress").
 * The server closes the connection when it has sent the signal, and not before; libpq waits for that too.
 * Not postgres.js' own query.cancel(): it neither waits nor lets anybody catch its error.
 * @param ssl as postgres.js takes it; without encryption the secret would travel in the clear
 * @throws when the server does not close in time, or the connection fails
 */
export async function cancelBackend(
  address: Address,
  { pid, secret }: Backend,
  ssl: unknown,
  patience: number,
): Promise<void> {
  const raw = 'path' in address ? openSocket(address.path) : openSocket(address.port, address.host)
  const timer = setTimeout(() => raw.destroy(new Error('no answer to a cancel request')), patience)
  try {
    await event(raw, 'connect')
    const socket = ssl ? await encrypted(raw, address, ssl) : raw
    const over = event(socket, 'close')
    socket.resume()
    socket.write(words(16, CANCEL_REQUEST, pid, secret))
    await over
  } finally {
    clearTimeout(timer)
    raw.destroy()
  }
}

async function encrypted(raw: Socket, address: Address, ssl: unknown): Promise<Socket> {
  raw.write(words(8, SSL_REQUEST))
  const [answer] = (await event(raw, 'data')) as [Buffer]
  if (answer.toString() !== 'S') {
    if (ssl === 'prefer') return raw
    throw new Error('the server does not encrypt')
  }
  raw.removeAllListeners('data')
  const name = 'host' in address && !isIP(address.host) ? { servername: address.host } : {}
  const options: ConnectionOptions = { socket: raw, ...name }
  if (typeof ssl === 'object') Object.assign(options, ssl)
  else if (ssl !== 'verify-full') options.rejectUnauthorized = false
  const socket = encrypt(options)
  await event(socket, 'secureConnect')
  return socket
}

const words = (...numbers: number[]) => {
  const bytes = Buffer.alloc(numbers.length * 4)
  for (const [index, number] of numbers.entries()) bytes.writeUInt32BE(number >>> 0, index * 4)
  return bytes
}

function event(socket: Socket, name: string): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    socket.once(name, (...values: unknown[]) => resolve(values))
    socket.once('error', reject)
    if (name !== 'close') socket.once('close', () => reject(new Error('closed')))
  })
}
