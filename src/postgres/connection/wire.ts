import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import postgres, { type Options, type ParameterOrJSON, type PostgresType, type Sql } from 'postgres'
import { closedError } from '../failures.ts'
import type { RunOptions } from '../statement.ts'
import { type Backend, cancelBackend, openSocket, type Route } from './socket.ts'
import type { PostgresUrl } from './url.ts'
import { asText, VALUE_TYPES } from './value-types.ts'

/** How one connection starts. */
export interface Start {
  url: PostgresUrl
  route: Route
  /** Parameters of the server. */
  parameters: Record<string, string>
}

/** postgres.js on sockets that openSocket() has opened: it only speaks the protocol. */
export function client(
  { url, parameters }: Start,
  socket: () => Promise<Socket>,
  options: Options<Record<string, PostgresType>>,
): Sql {
  // A date is read back as it was written, ISO: it is part of a remembered position.
  const connection = { application_name: 'axport', TimeZone: 'UTC', DateStyle: 'ISO', ...parameters }
  // openSocket() does what these three are for.
  const done = { ssl: false, keep_alive: 0, connect_timeout: 0 }
  const all = { ...url.login, connection, prepare: url.prepare, onnotice: () => {}, ...done, socket }
  return postgres({ ...all, ...options })
}

/** What a connection sends its statements through: postgres.js on a socket, or a simulation. */
export type Wire = Pick<PostgresWire, keyof PostgresWire>

/** Opens a wire. @throws as openSocket() */
export type Dial = (start: Start, timeoutMs: number) => Promise<Wire>

export const dialPostgres: Dial = async (start, timeoutMs) =>
  new PostgresWire(start, await openSocket(start.route, timeoutMs))

/** ReadyForQuery outside a transaction (Message Formats of the protocol): no text of another message has its zeros. */
const READY_AND_IDLE = Buffer.from('Z\0\0\0\x05I')

/** postgres.js on one open socket. */
class PostgresWire {
  /** Called when the connection ends, for whatever reason. */
  onEnd = () => {}
  #hasFailed = false
  /** The last bytes that the server sent. postgres.js 3.4.9 does not tell the status in ReadyForQuery. */
  readonly #tail = Buffer.alloc(READY_AND_IDLE.length)
  readonly #sql: Sql

  constructor(
    private readonly start: Start,
    private readonly socket: Socket,
  ) {
    let isTaken = false
    const take = async () => {
      if (isTaken || socket.destroyed) throw closedError()
      isTaken = true
      return socket
    }
    socket.on('data', (chunk: Buffer) => {
      const size = Math.min(chunk.length, this.#tail.length)
      this.#tail.copyWithin(0, size)
      chunk.copy(this.#tail, this.#tail.length - size, chunk.length - size)
    })
    const onclose = () => this.onEnd()
    const types = { fetch_types: false, types: VALUE_TYPES }
    this.#sql = client(start, take, { max: 1, max_lifetime: null, ...types, onclose })
  }

  get bytesRead(): number {
    return this.socket.bytesRead
  }

  /** Whether the server is in no transaction, and has sent nothing since it said so. Only true if no statement runs. */
  get isIdle(): boolean {
    return this.#tail.equals(READY_AND_IDLE)
  }

  /** Runs a statement after those that were sent before. @throws the error of the statement or the connection */
  async send(text: string, parameters: ParameterOrJSON<never>[], options: RunOptions): Promise<object> {
    // postgres.js 3.4.9 keeps the rows before an error, and appends the next rows to them, until a statement succeeds.
    if (this.#hasFailed) this.#sql.unsafe('select 1').catch(() => {})
    this.#hasFailed = false
    const query = this.#sql.unsafe(text, parameters.map(asText), { prepare: options.prepare })
    // Without this, postgres.js 3.4.9 asks for the types of parameters: a round trip, and each parameter has a cast.
    if (!options.prepare) Object.defineProperty(query, 'describeFirst', { get: () => false, set: () => {} })
    try {
      return await (options.bytes ? query.raw() : query)
    } catch (error) {
      this.#hasFailed = true
      throw error
    }
  }

  /** The bytes of `COPY … TO STDOUT`, read no faster than they are taken. */
  async *copy(text: string): AsyncGenerator<Uint8Array, void, undefined> {
    const query = this.#sql.unsafe(text)
    // postgres.js 3.4.9 returns the stream a turn of the event loop late: an earlier error would end the process.
    const internal = query as unknown as { resolve(result: unknown): void }
    const { resolve } = internal
    internal.resolve = result => {
      if (result instanceof Readable) result.on('error', () => {})
      resolve(result)
    }
    yield* await query.readable()
    // The stream may have paused the socket, and does not resume it at its end.
    this.socket.resume()
  }

  cancel(backend: Backend, timeoutMs: number): Promise<void> {
    return cancelBackend(this.start.route, backend, timeoutMs)
  }

  /** Says goodbye to the server, and closes after `timeoutMs` at the latest. */
  async close(timeoutMs: number): Promise<void> {
    await this.#sql.end({ timeout: timeoutMs / 1000 }).catch(() => {})
    this.socket.destroy()
  }

  /** Closes at once. No statement may be waiting for its answer. */
  destroy(): void {
    this.socket.destroy()
    this.#sql.end({ timeout: 0 }).catch(() => {})
  }
}
