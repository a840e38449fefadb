import { connect, createServer, type Server, type Socket } from 'node:net'

/** A TCP proxy in front of a Postgres on 127.0.0.1 whose test decides about each answer. */
export class AnswerProxy {
  /** Called with what the client sent last and a part of the answer. The connection ends instead if it returns false. */
  passes = async (_asked: Buffer, _answer: Buffer): Promise<boolean> => true
  accepted = 0
  readonly #sockets = new Set<Socket>()

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
  ) {}

  static async start(target: string): Promise<AnswerProxy> {
    const server = createServer({ noDelay: true })
    const proxy = new AnswerProxy(server, new URL(target))
    server.on('connection', client => proxy.#accept(client))
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  /** The URL of the target through the proxy. */
  get url(): string {
    const url = new URL(this.target)
    url.port = String((this.server.address() as { port: number }).port)
    return url.href
  }

  async stop(): Promise<void> {
    const closed = new Promise(resolve => this.server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #accept(client: Socket): void {
    this.accepted++
    const server = connect({ port: Number(this.target.port), host: '127.0.0.1', noDelay: true })
    let asked: Buffer = Buffer.alloc(0)
    let passed = Promise.resolve()
    client.on('data', (data: Buffer) => {
      asked = Buffer.from(data)
      server.write(data)
    })
    server.on('data', (received: Buffer) => {
      const answer = Buffer.from(received)
      const last = asked
      passed = passed.then(async () => {
        if (await this.passes(last, answer)) client.write(answer)
        else client.destroy()
      })
    })
    for (const [one, other] of [[client, server] as const, [server, client] as const]) {
      this.#sockets.add(one)
      one
        .on('error', () => {})
        .on('close', () => {
          this.#sockets.delete(one)
          other.destroy()
        })
    }
  }
}
