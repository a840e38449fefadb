import { createServer, type Server, type Socket } from 'node:net'
import { LIST } from '../../support/http.ts'

/** What a request gets instead of the answer of the service. */
export type Trouble =
  | { status: number; headers?: Record<string, string>; body?: string }
  /** The connection is reset without an answer. */
  | 'reset'
  /** The answer of the service, of which the second half of the body is missing; with its length, in chunks, or neither. */
  | 'half, with its length'
  | 'half, in chunks'
  | 'half, to the end'
  /** No byte ever arrives. */
  | 'silence'
  /** Single bytes without an end: of the headers, or of the body. */
  | 'endless headers'
  | 'endless body'
  /** A page of HTML with status 200, as of a captive portal. */
  | 'a page of HTML'

/** A call before the request is passed on: it may change data. */
export type Before = () => Promise<unknown>

/** A request that has arrived: its query string, its Authorization or the empty string, and its time. */
export interface Seen {
  query: string
  authorization: string
  /** By Date.now(). */
  at: number
}

/** A plan for each request in turn: a trouble, something to do before it is passed on, or undefined to pass it on. */
type Plan = (Trouble | Before | undefined)[]

/** A proxy in front of a service, which gives token requests and list requests the troubles of two plans, in turn. */
export class TroubledProxy {
  readonly url: string
  readonly tokens: Seen[] = []
  readonly lists: Seen[] = []
  private readonly sockets = new Set<Socket>()

  private constructor(
    private readonly server: Server,
    private readonly target: string,
    private readonly plans: { tokens: Plan; lists: Plan },
  ) {
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('the proxy does not listen')
    this.url = `http://127.0.0.1:${address.port}`
    server.on('connection', socket => this.accept(socket))
  }

  static async start(target: string, plans: { tokens?: Plan; lists?: Plan }): Promise<TroubledProxy> {
    const server = createServer({ noDelay: true })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    return new TroubledProxy(server, target, {
      tokens: [...(plans.tokens ?? [])],
      lists: [...(plans.lists ?? [])],
    })
  }

  /** What is left of the plans, so that a test sees that all of them came. */
  get left(): Plan {
    return [...this.plans.tokens, ...this.plans.lists]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise(resolve => this.server.close(resolve))
    for (const socket of this.sockets) socket.destroy()
    await closed
  }

  /** One request a connection. */
  private accept(socket: Socket): void {
    this.sockets.add(socket)
    socket.on('error', () => {}).on('close', () => this.sockets.delete(socket))
    let text = ''
    const read = (chunk: Buffer) => {
      text += chunk.toString('latin1')
      const [head = '', body] = text.split('\r\n\r\n', 2)
      const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
      if (body === undefined || body.length < length) return
      socket.off('data', read)
      void this.answer(socket, head, body)
    }
    socket.on('data', read)
  }

  private async answer(socket: Socket, head: string, body: string): Promise<void> {
    const [method = '', target = ''] = head.split(' ', 2)
    const [path = '', query = ''] = target.split('?', 2)
    const authorization = /^authorization: *(.*)$/im.exec(head)?.[1]?.trim() ?? ''
    const kind = path === LIST ? 'lists' : 'tokens'
    this[kind].push({ query, authorization, at: Date.now() })
    const planned = this.plans[kind].shift()
    if (planned === 'reset') return void socket.resetAndDestroy()
    if (planned === 'silence') return
    if (planned === 'endless headers' || planned === 'endless body') return await drip(socket, planned)
    if (planned === 'a page of HTML')
      return end(socket, 200, { 'content-type': 'text/html' }, '<p>Log in</p>')
    if (typeof planned === 'object')
      return end(socket, planned.status, planned.headers ?? {}, planned.body ?? '{"errors":[]}')
    if (typeof planned === 'function') await planned()
    const type = 'application/x-www-form-urlencoded'
    const init = method === 'POST' ? { method, body, headers: { 'content-type': type } } : {}
    const answer = await fetch(this.target + target, {
      ...init,
      headers: { ...init.headers, ...(authorization && { authorization }) },
    })
    const text = await answer.text()
    if (typeof planned !== 'string') return end(socket, answer.status, {}, text)
    const half = text.slice(0, text.length / 2)
    const [, how = ''] = planned.split(', ')
    const framing =
      { 'with its length': `content-length: ${Buffer.byteLength(text)}\r\n`, 'in chunks': CHUNKED }[how] ?? ''
    const bytes = Buffer.byteLength(half).toString(16)
    socket.write(`HTTP/1.1 ${answer.status} X\r\nconnection: close\r\n${framing}\r\n`)
    socket.end(framing === CHUNKED ? `${bytes}\r\n${half}\r\n` : half)
  }
}

const CHUNKED = 'transfer-encoding: chunked\r\n'

function end(socket: Socket, status: number, headers: Record<string, string>, body: string): void {
  const all = { connection: 'close', 'content-length': String(Buffer.byteLength(body)), ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} X\r\n${lines.join('')}\r\n${body}`)
}

async function drip(socket: Socket, what: 'endless headers' | 'endless body'): Promise<void> {
  socket.write(`HTTP/1.1 200 OK\r\n${what === 'endless body' ? 'content-length: 100000\r\n\r\n{"' : 'x-a: '}`)
  while (!socket.destroyed) {
    socket.write('a')
    await Bun.sleep(100)
  }
}
