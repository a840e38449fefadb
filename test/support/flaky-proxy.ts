import { connect, createServer, type Server, type Socket } from 'node:net'

/** What the network does to the connections between two programs, here a service and its database. */
export type Weather =
  | { is: 'fair' }
  /** Everything arrives, so many milliseconds later, in either direction. */
  | { is: 'slow'; milliseconds: number }
  /** A connection is cut after so many bytes of the database's answers, asked for once a connection. */
  | { is: 'cutting'; after: () => number }
  /** Answers arrive with another byte in them. */
  | { is: 'garbling' }
  /** Nothing arrives, and nobody is told. Connections are taken as ever. */
  | { is: 'silent' }
  /** Connections are taken and closed at once, as by a balancer without a database behind it. */
  | { is: 'closing' }

interface Link {
  client: Socket
  server: Socket | undefined
  /** Bytes of answers until it is cut. */
  budget: number
  /** What was sent while nothing arrived is lost, and all that comes after it: it never speaks again. */
  isDead: boolean
}

/** Stands before a server on 127.0.0.1, a Postgres or another one, and is as unreliable as it is told to be. */
export class FlakyProxy {
  /** Connections that were ever opened. */
  accepted = 0
  #weather: Weather = { is: 'fair' }
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

  /** The URL of what is behind, through the proxy. */
  get url(): string {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('the proxy does not listen')
    const url = new URL(this.target)
    url.hostname = '127.0.0.1'
    url.port = String(address.port)
    return url.href
  }

  /** Connections that the service holds open at this moment. */
  get connections(): number {
    return this.#links.size
  }

  /** Changes the weather for connections that are open and for new ones. */
  become(weather: Weather): void {
    // A firewall that was down does not remember the connections from before.
    if (this.#weather.is === 'silent') for (const link of this.#links) this.#die(link)
    this.#weather = weather
    for (const link of this.#links) {
      link.budget = budgetIn(weather)
      if (weather.is === 'closing') this.#end(link)
    }
  }

  /** Cuts all connections. */
  cut(): void {
    for (const link of this.#links) this.#end(link)
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
    if (this.#weather.is === 'closing') return void client.destroy()
    const link: Link = { client, server: undefined, budget: budgetIn(this.#weather), isDead: false }
    this.#links.add(link)
    client.on('close', () => this.#end(link))
    // It hangs, for good: what the client says is read and goes nowhere.
    if (this.#weather.is === 'silent') return void client.resume()
    const server = connect({ port: this.#port, host: '127.0.0.1', noDelay: true })
    link.server = server
    server.on('error', () => {})
    server.on('close', () => {
      // The news of the end does not arrive either.
      if (this.#weather.is !== 'silent' && !link.isDead) this.#end(link)
    })
    this.#forward(link, client, server, () => Number.POSITIVE_INFINITY)
    this.#forward(link, server, client, () => link.budget)
  }

  #forward(link: Link, from: Socket, to: Socket, allowed: () => number): void {
    const isAnswer = to === link.client
    from.on('data', (chunk: Buffer) => {
      const weather = this.#weather
      if (link.isDead || weather.is === 'silent') return
      if (weather.is === 'slow') {
        // Timers of one length end in the order in which they were set, so bytes stay in order.
        setTimeout(() => void (link.isDead || to.write(chunk)), weather.milliseconds)
        return
      }
      if (weather.is === 'garbling' && isAnswer) {
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

const budgetIn = (weather: Weather) => (weather.is === 'cutting' ? weather.after() : Number.POSITIVE_INFINITY)
