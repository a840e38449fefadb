import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from './free-port.ts'

/** What happens to connections: they go through; they are taken and closed; they are taken, and nothing passes any more. */
export type Weather = 'fair' | 'closing' | 'silent'

/** A proxy on a port of its own in front of a Postgres, in any weather. */
export interface DatabaseProxy {
  /** The same URL, through the proxy. */
  url: string
  /** Holds for connections that are open, too, but for "closing". */
  set(weather: Weather): void
  /** Cuts all connections that are open now. */
  cut(): void
  /** How many were opened so far. */
  opened(): number
  /** Nothing listens from now on, or again. */
  close(): Promise<void>
  reopen(): Promise<void>
}

export async function startProxy(target: string): Promise<DatabaseProxy> {
  const { hostname, port: targetPort } = new URL(target)
  const sockets = new Set<Socket>()
  let weather: Weather = 'fair'
  let opened = 0
  const pass = (from: Socket, to: Socket) => {
    sockets.add(from)
    from.on('error', () => {})
    from.on('data', chunk => {
      if (weather !== 'silent') to.write(chunk)
    })
    from.on('close', () => {
      sockets.delete(from)
      if (weather !== 'silent') to.destroy()
    })
  }
  const welcome = (client: Socket) => {
    opened++
    if (weather === 'closing') {
      client.on('error', () => {}).destroy()
      return
    }
    const upstream = connect(Number(targetPort), hostname)
    pass(client, upstream)
    pass(upstream, client)
  }
  const port = await freePort()
  let server: Server
  const open = async () => {
    server = createServer(welcome)
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, '127.0.0.1', resolve)
    })
  }
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  await open()
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String(port)
  return {
    url: url.href,
    set: next => {
      weather = next
    },
    cut,
    opened: () => opened,
    close: async () => {
      const closed = new Promise(resolve => server.close(resolve))
      cut()
      await closed
    },
    reopen: open,
  }
}
