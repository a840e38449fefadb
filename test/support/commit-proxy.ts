import { connect, createServer, type Server, type Socket } from 'node:net'

/** The point at which a connection is cut whose client sends COMMIT. */
export type Cut =
  /** COMMIT does not arrive. The server keeps its side open: for it the client is silent. */
  | 'before COMMIT arrives, half-open'
  /** COMMIT does not arrive, and the server notices the cut. */
  | 'before COMMIT arrives'
  /** Half of the bytes of COMMIT arrive, and the server keeps its side open. */
  | 'in the middle of COMMIT, half-open'
  /** COMMIT arrives, and both sides are cut: at once, or after `meanwhile`. */
  | 'when COMMIT arrives'
  /** The server has answered, and the answer is dropped. */
  | 'before the answer arrives'
  /** The answer is dropped, and neither side is cut. */
  | 'never, and no answer arrives'

interface Link {
  client: Socket
  server: Socket
  /** Bytes of the client that are not a whole message yet. */
  rest: Buffer
  isStarted: boolean
  /** Names of prepared statements that are COMMIT. */
  prepared: Set<string>
  /** The next answer of the server is the one to COMMIT. */
  isCommitting: boolean
}

const SSL_REQUEST = 80877103

/** A TCP proxy in front of a Postgres on 127.0.0.1, which cuts connections at their COMMIT. */
export class CommitProxy {
  /** Undefined: nothing is cut. */
  cut: Cut | undefined
  /** How many COMMITs are let through before one is cut. */
  spared = 0
  /** Awaited when a connection was cut, and before its client learns of it. */
  meanwhile: () => Promise<void> | void = () => {}
  /** New connections are closed at once. */
  isDown = false
  readonly #links = new Set<Link>()
  #reached = Promise.withResolvers<void>()

  private constructor(
    private readonly server: Server,
    private target: URL,
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

  /** Resolves when a COMMIT has reached the proxy that is to be cut. */
  get reached(): Promise<void> {
    return this.#reached.promise
  }

  /** Leads new connections to another server. */
  redirect(target: string): void {
    this.target = new URL(target)
  }

  /** Cuts from now on at this point, `spared` COMMITs later. */
  cutAt(cut: Cut | undefined, meanwhile: () => Promise<void> | void = () => {}, spared = 0): void {
    this.cut = cut
    this.meanwhile = meanwhile
    this.spared = spared
    this.isDown = false
    this.#reached = Promise.withResolvers<void>()
  }

  async stop(): Promise<void> {
    const closed = new Promise(resolve => this.server.close(resolve))
    for (const link of this.#links) this.#end(link)
    await closed
  }

  #accept(client: Socket): void {
    client.on('error', () => {})
    if (this.isDown) return void client.destroy()
    const server = connect({ port: Number(this.target.port), host: '127.0.0.1', noDelay: true })
    server.on('error', () => {})
    const link = {
      client,
      server,
      rest: Buffer.alloc(0),
      isStarted: false,
      prepared: new Set<string>(),
      isCommitting: false,
    }
    this.#links.add(link)
    client.on('close', () => server.destroy())
    server.on('close', () => this.#end(link))
    client.on('data', (chunk: Buffer) => this.#take(link, chunk))
    server.on('data', (chunk: Buffer) => {
      if (!link.isCommitting) return void client.write(chunk)
      if (this.cut === 'before the answer arrives') void this.#cutBoth(link)
    })
  }

  #take(link: Link, chunk: Buffer): void {
    if (link.isCommitting) return
    const isCut = this.#commits(link, chunk) && this.cut !== undefined && this.spared-- === 0
    if (isCut) void this.#atCommit(link, chunk)
    else link.server.write(chunk)
  }

  /** Reads the messages of the client, and finds out whether one of them is a COMMIT. */
  #commits(link: Link, chunk: Buffer): boolean {
    link.rest = Buffer.concat([link.rest, chunk])
    for (let found = false; ; ) {
      const head = link.isStarted ? 1 : 0
      if (link.rest.length < head + 4) return found
      const size = head + link.rest.readUInt32BE(head)
      if (link.rest.length < size) return found
      const message = link.rest.subarray(0, size)
      link.rest = link.rest.subarray(size)
      if (!link.isStarted) link.isStarted = message.readUInt32BE(4) !== SSL_REQUEST
      else found = this.#isCommit(link, message.toString('latin1')) || found
    }
  }

  /** A query, or the execution of a prepared statement: its Bind names portal and statement. */
  #isCommit({ prepared }: Link, message: string): boolean {
    if (/^Q[\s\S]{4}commit\0/.test(message)) return true
    const [, parsed] = /^P[\s\S]{4}(\w*)\0commit\0/.exec(message) ?? []
    if (parsed !== undefined) prepared.add(parsed)
    const [, bound] = /^B[\s\S]{4}\w*\0(\w*)\0/.exec(message) ?? []
    return bound !== undefined && prepared.has(bound)
  }

  async #atCommit(link: Link, chunk: Buffer): Promise<void> {
    link.isCommitting = true
    const { cut } = this
    this.#reached.resolve()
    if (cut === 'before the answer arrives' || cut === 'never, and no answer arrives') {
      link.server.write(chunk)
      return
    }
    if (cut === 'before COMMIT arrives') return await this.#cutBoth(link)
    if (cut === 'when COMMIT arrives') link.server.write(chunk)
    if (cut === 'in the middle of COMMIT, half-open') link.server.write(chunk.subarray(0, chunk.length / 2))
    link.client.removeAllListeners('close')
    link.server.removeAllListeners('close')
    await this.meanwhile()
    link.client.destroy()
    if (cut === 'when COMMIT arrives') link.server.destroy()
  }

  async #cutBoth(link: Link): Promise<void> {
    link.server.removeAllListeners('close')
    link.server.destroy()
    await this.meanwhile()
    this.#end(link)
  }

  #end(link: Link): void {
    this.#links.delete(link)
    link.client.destroy()
    link.server.destroy()
  }
}
