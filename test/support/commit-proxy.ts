import { connect, createServer, type Server, type Socket } from 'node:net'

/** The point at which the connection of a transaction is cut. */
export type Cut =
  /** The statement before COMMIT does not arrive. */
  | 'before COMMIT is sent'
  /** COMMIT is sent, and does not arrive. */
  | 'before COMMIT arrives'
  /** COMMIT arrives, and its answer does not. */
  | 'before the answer arrives'
  /** The same, and nothing is cut. */
  | 'never, and no answer arrives'

/** The last statement of transact() before COMMIT. */
const LAST = 'synchronous_commit'
const SSL_REQUEST = 80877103

interface Link {
  client: Socket
  server: Socket
  /** Bytes of the client that are not a whole message yet. */
  rest: Buffer
  isStarted: boolean
  /** The texts of prepared statements by their names. */
  prepared: Map<string, string>
  isCutting: boolean
}

/** A TCP proxy in front of a Postgres on 127.0.0.1, which cuts the connection of a transaction at its COMMIT. */
export class CommitProxy {
  #cut: Cut | undefined
  /** How many transactions are let through before one is cut. */
  #spared = 0
  #reached = Promise.withResolvers<void>()
  readonly #links = new Set<Link>()

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
  ) {}

  static async start(target: string): Promise<CommitProxy> {
    const server = createServer({ noDelay: true })
    const proxy = new CommitProxy(server, new URL(target))
    server.on('connection', client => proxy.#accept(client))
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  /** The URL of the target through the proxy. */
  get url(): string {
    const { port } = this.server.address() as { port: number }
    const url = new URL(this.target)
    url.port = String(port)
    return url.href
  }

  /** Resolves when a transaction has come to where it is cut. */
  get reached(): Promise<void> {
    return this.#reached.promise
  }

  /** Cuts a transaction from now on, `spared` transactions later; undefined cuts none. */
  cutAt(cut: Cut | undefined, spared = 0): void {
    this.#cut = cut
    this.#spared = spared
    this.#reached = Promise.withResolvers<void>()
  }

  async stop(): Promise<void> {
    const closed = new Promise(resolve => this.server.close(resolve))
    for (const link of this.#links) this.#end(link)
    await closed
  }

  #accept(client: Socket): void {
    const server = connect({ port: Number(this.target.port), host: '127.0.0.1', noDelay: true })
    const rest = Buffer.alloc(0)
    const link: Link = { client, server, rest, isStarted: false, prepared: new Map(), isCutting: false }
    this.#links.add(link)
    for (const socket of [client, server]) {
      socket.on('error', () => {})
      socket.on('close', () => this.#end(link))
    }
    client.on('data', (chunk: Buffer) => this.#take(link, chunk))
    server.on('data', (chunk: Buffer) => {
      if (!link.isCutting) client.write(chunk)
      else if (this.#cut === 'before the answer arrives') this.#end(link)
    })
  }

  #take(link: Link, chunk: Buffer): void {
    const isAtCut = this.#statementsIn(link, chunk).some(text =>
      this.#cut === 'before COMMIT is sent' ? text.includes(LAST) : text === 'commit',
    )
    if (!isAtCut || this.#cut === undefined || this.#spared-- !== 0) return void link.server.write(chunk)
    link.isCutting = true
    if (this.#cut.endsWith('no answer arrives') || this.#cut === 'before the answer arrives')
      link.server.write(chunk)
    else this.#end(link)
    this.#reached.resolve()
  }

  /** The texts of the statements that these bytes of a client complete, each when it is to run. */
  #statementsIn(link: Link, chunk: Buffer): string[] {
    const texts: string[] = []
    link.rest = Buffer.concat([link.rest, chunk])
    for (;;) {
      const head = link.isStarted ? 1 : 0
      if (link.rest.length < head + 4) return texts
      const size = head + link.rest.readUInt32BE(head)
      if (link.rest.length < size) return texts
      const message = link.rest.subarray(0, size).toString('latin1')
      if (!link.isStarted) link.isStarted = link.rest.readUInt32BE(4) !== SSL_REQUEST
      else texts.push(...textsOf(link, message))
      link.rest = link.rest.subarray(size)
    }
  }

  #end(link: Link): void {
    this.#links.delete(link)
    link.client.destroy()
    link.server.destroy()
  }
}

/** The text of a Query, or of the prepared statement that a Bind names. A Parse is remembered. */
function textsOf({ prepared }: Link, message: string): string[] {
  const [first = '', second = ''] = message.slice(5).split('\0')
  if (message[0] === 'Q') return [first]
  if (message[0] === 'P') prepared.set(first, second)
  return message[0] === 'B' ? [prepared.get(second) ?? ''] : []
}
