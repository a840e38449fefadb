import { connect, createServer, type Server, type Socket } from 'node:net'

/** How the network between two programs behaves, such as a service and its database. */
export type NetworkCondition =
  | { is: 'normal' }
  /** All bytes arrive this many milliseconds late, in both directions. */
  | { is: 'slow'; milliseconds: number }
  /** A connection is cut after this many bytes of answers. `after` is called once for each connection. */
  | { is: 'cutting'; after: () => number }
  /** The last byte of each chunk of an answer is inverted. */
  | { is: 'garbling' }
  /** No byte arrives, and neither side gets an error. New connections are accepted. */
  | { is: 'silent' }
  /** Connections are accepted and closed at once, as by a load balancer that has no server. */
  | { is: 'closing' }

interface Link {
  client: Socket
  server: Socket | undefined
  /** Bytes of answers that still pass before the connection is cut. */
  budget: number
  /** Set when a silent network recovers: bytes were lost, so the connection passes none again. */
  isDead: boolean
}

/** A TCP proxy in front of a server on 127.0.0.1. `setNetwork()` sets how reliable the proxy is. */
export class FlakyProxy {
  /** The number of connections accepted so far. */
  accepted = 0
  #network: NetworkCondition = { is: 'normal' }
  readonly #links = new Set<Link>()
  readonly #server: Server
  #port: number

  private constructor(
    server: Server,
    private readonly target: URL,
  ) {
    this.#server = server
    this.#port = Number(target.port)
  }

  /** Listens on a free port of 127.0.0.1 and forwards to the port of a URL. */
  static async start(target: string): Promise<FlakyProxy> {
    const server = createServer({ noDelay: true })
    const proxy = new FlakyProxy(server, new URL(target))
    server.on('connection', client => proxy.#accept(client))
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(0, '127.0.0.1', resolve)
    })
    return proxy
  }

  /** The URL of the target through the proxy. */
  get url(): string {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the proxy does not listen')
    const url = new URL(this.target)
    url.hostname = '127.0.0.1'
    url.port = String(address.port)
    return url.href
  }

  /** The number of open connections. */
  get connections(): number {
    return this.#links.size
  }

  /** Changes the behaviour for open and for new connections. */
  setNetwork(condition: NetworkCondition): void {
    // A firewall that was down has lost its state, and drops the packets of older connections.
    if (this.#network.is === 'silent') for (const link of this.#links) this.#die(link)
    this.#network = condition
    for (const link of this.#links) {
      link.budget = budgetIn(condition)
      if (condition.is === 'closing') this.#end(link)
    }
  }

  /** Cuts all connections, the newest one first. */
  cut(): void {
    for (const link of [...this.#links].reverse()) this.#end(link)
  }

  /** Cuts all connections; new ones lead to another port. */
  redirect(port: number): void {
    this.#port = port
    this.cut()
  }

  async stop(): Promise<void> {
    const closed = new Promise(resolve => this.#server.close(resolve))
    this.cut()
    await closed
  }

  #accept(client: Socket): void {
    this.accepted++
    client.on('error', () => {})
    if (this.#network.is === 'closing') return void client.destroy()
    const link: Link = { client, server: undefined, budget: budgetIn(this.#network), isDead: false }
    this.#links.add(link)
    client.on('close', () => this.#end(link))
    // The connection hangs for good: bytes of the client are read and dropped.
    if (this.#network.is === 'silent') return void client.resume()
    const server = connect({ port: this.#port, host: '127.0.0.1', noDelay: true })
    link.server = server
    server.on('error', () => {})
    server.on('close', () => {
      // A silent network does not pass the server's FIN either.
      if (this.#network.is !== 'silent' && !link.isDead) this.#end(link)
    })
    this.#forward(link, client, server, () => Number.POSITIVE_INFINITY)
    this.#forward(link, server, client, () => link.budget)
  }

  #forward(link: Link, from: Socket, to: Socket, allowed: () => number): void {
    const isAnswer = to === link.client
    from.on('data', (chunk: Buffer) => {
      const condition = this.#network
      if (link.isDead || condition.is === 'silent') return
      if (condition.is === 'slow') {
        // Timers with equal delays fire in the order in which they were set, so the bytes stay in order.
        setTimeout(() => void (link.isDead || to.write(chunk)), condition.milliseconds)
        return
      }
      if (condition.is === 'garbling' && isAnswer) {
        const last = chunk.length - 1
        chunk.writeUInt8(chunk.readUInt8(last) ^ 0xff, last)
      }
      const room = allowed()
      if (isAnswer) link.budget -= chunk.length
      if (chunk.length <= room) return void to.write(chunk)
      to.write(chunk.subarray(0, room), () => this.#end(link))
    })
  }

  #die(link: Link): void {
    link.isDead = true
    link.server?.destroy()
  }

  #end(link: Link): void {
    this.#links.delete(link)
    link.client.destroy()
    link.server?.destroy()
  }
}

const budgetIn = (condition: NetworkCondition) =>
  condition.is === 'cutting' ? condition.after() : Number.POSITIVE_INFINITY
