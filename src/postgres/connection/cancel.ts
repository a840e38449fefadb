import { openSocket, type Route } from './socket.ts'
import { inTime } from './timeouts.ts'

/** How a server knows the process behind a connection. */
export interface Backend {
  pid: number
  secret: number
}

/** In place of a start. */
const CANCEL_REQUEST = 80877102

/**
 * Asks a server to end the statement that a process is running (protocol: "Canceling Requests in Progress").
 * The server closes the connection when it has sent the signal, and not before; libpq waits for that too.
 * Not postgres.js' own query.cancel(): it neither waits nor lets anybody catch its error.
 * @param route that of the connection: without its encryption the secret would travel in the clear
 * @param patience milliseconds
 * @throws when the server does not close in time, or the connection fails
 */
export async function cancelBackend(route: Route, { pid, secret }: Backend, patience: number): Promise<void> {
  const deadline = performance.now() + patience
  const socket = await openSocket(route, patience)
  const { promise: over, resolve, reject } = Promise.withResolvers<void>()
  socket.once('close', () => resolve()).once('error', reject)
  socket.resume()
  const message = Buffer.alloc(16)
  for (const [index, number] of [16, CANCEL_REQUEST, pid, secret].entries())
    message.writeUInt32BE(number >>> 0, index * 4)
  socket.write(message)
  try {
    await inTime(deadline - performance.now(), over)
  } finally {
    socket.destroy()
  }
}
