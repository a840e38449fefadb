import { connect, createServer, type Socket } from 'node:net'

/** A forward proxy, as HTTPS_PROXY names one: it opens tunnels by CONNECT, to any host. */
export interface ForwardProxy {
  url: string
  /** The request lines so far. */
  requests: string[]
  /** The status with which it refuses every request; undefined: it refuses none. */
  refusesWith: number | undefined
  stop(): void
}

export async function startForwardProxy(): Promise<ForwardProxy> {
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    sockets.add(client)
    client.on('error', () => {}).once('data', bytes => answer(client, bytes.toString()))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const proxy: ForwardProxy = {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    requests: [],
    refusesWith: undefined,
    stop() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
  function answer(client: Socket, head: string): void {
    const [line = ''] = head.split('\r\n')
    proxy.requests.push(line)
    const [, host = '', port = ''] = /^CONNECT \[?([^\]]+)\]?:(\d+) /.exec(line) ?? []
    const status = proxy.refusesWith ?? (host === '' ? 405 : undefined)
    if (status !== undefined)
      return void client.end(`HTTP/1.1 ${status} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`)
    const service = connect(Number(port), host, () => client.write('HTTP/1.1 200 Connected\r\n\r\n'))
    sockets.add(service)
    service.on('error', () => client.destroy()).pipe(client)
    client.pipe(service)
  }
  return proxy
}
