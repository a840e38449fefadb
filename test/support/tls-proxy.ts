import { connect, createServer, type Socket } from 'node:net'
import { createSecureContext, createServer as createTlsServer } from 'node:tls'

/** A proxy in front of a Postgres that speaks TLS with clients and records the server names (SNI) that they send. */
export interface TlsProxy {
  port: number
  /** The server names of the TLS connections, in the order of the connections. */
  names: string[]
  stop(): void
}

const SSL_REQUEST = 80877103

/** @param url the URL of the server; the proxy connects to it without TLS */
export async function startTlsProxy(url: string, pair: { cert: string; key: string }): Promise<TlsProxy> {
  const { hostname, port } = new URL(url)
  const names: string[] = []
  const pipe = (client: Socket, to: Socket) => {
    client.pipe(to).pipe(client)
    for (const [one, other] of [[client, to] as const, [to, client] as const])
      one.on('close', () => other.destroy()).on('error', () => {})
  }
  const inner = createTlsServer({
    ...pair,
    SNICallback: (name, done) => {
      names.push(name)
      done(null, createSecureContext(pair))
    },
  }).on('secureConnection', client => pipe(client, connect(Number(port), hostname)))
  const inside = await listening(inner)
  // Postgres clients start TLS after a first message, so the outer server passes the rest to a TLS server.
  const outer = createServer(client => {
    client.once('data', (data: Buffer) => {
      if (data.readUInt32BE(4) !== SSL_REQUEST) return void client.destroy()
      client.write('S')
      pipe(client, connect(inside, '127.0.0.1'))
    })
    client.on('error', () => {})
  })
  const stop = () => {
    outer.close()
    inner.close()
  }
  return { port: await listening(outer), names, stop }
}

async function listening(server: ReturnType<typeof createServer>): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '0.0.0.0', resolve))
  return (server.address() as { port: number }).port
}
