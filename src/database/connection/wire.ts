import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import postgres, { type Options, type ParameterOrJSON, type PostgresType, type Sql } from 'postgres'
import { closedError } from '../failures.ts'
import type { RunOptions } from '../statement.ts'
import type { PostgresUrl } from '../url.ts'
import { asText, VALUE_TYPES } from '../value-types.ts'
import { type LastWords, lastWordsIn } from './last-words.ts'
import { type Backend, cancelBackend, openSocket, type Route } from './socket.ts'

/*
 * postgres.js 3.4.9 speaks the protocol on sockets that socket.ts has opened. What it does beyond its documentation, and
 * how this file answers that. test/database/postgres-js.test.ts has a test for each, which fails when a new version no
 * longer does it: then the answer can go.
 *
 * - It asks the server for the types of the parameters of each statement that is not prepared, which takes a round trip.
 *   Here every parameter has a cast: send() sets the property by which it decides that.
 * - It keeps the rows that came before an error, and puts the next rows after them, until a statement succeeds. After a
 *   failure, send() runs a statement without parameters before the next one.
 * - It returns the stream of a COPY a turn of the event loop late, so that nobody can listen for an earlier error, which
 *   would end the process. copy() listens at once.
 * - It does not tell the status in ReadyForQuery. The wire keeps the last bytes of what the server sent.
 * - It forgets the error with which a server ends a connection while a statement runs. The wire reads it.
 * - It never settles statements that wait to be sent when the connection ends. Connection does.
 * - In a transaction of its begin() whose connection was cut, it throws a TypeError outside of any promise: see
 *   handleStray().
 */

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
  // The instants of a platform are read from the text of a COPY.
  const connection = { application_name: 'axport', TimeZone: 'UTC', DateStyle: 'ISO', ...parameters }
  // openSocket() does what these three are for.
  const done = { ssl: false, keep_alive: 0, connect_timeout: 0 }
  const all = { ...url.login, connection, prepare: url.prepare, onnotice: () => {}, ...done, socket }
  // Its types do not have the password as the patch takes it.
  return postgres({ ...all, ...options } as Options<Record<string, PostgresType>>)
}

/** What a connection sends its statements through: postgres.js on a socket, or a simulation. */
export type Wire = Pick<PostgresWire, keyof PostgresWire>

/** Opens a wire. @throws as openSocket() */
export type Dial = (start: Start, timeoutMs: number, signal?: AbortSignal) => Promise<Wire>

export const dialPostgres: Dial = async (start, timeoutMs, signal) =>
  new PostgresWire(start, await openSocket(start.route, timeoutMs, signal))

/** ReadyForQuery outside a transaction (Message Formats of the protocol): no text of another message has its zeros. */
const READY_AND_IDLE = Buffer.from('Z\0\0\0\x05I')

/** postgres.js on one open socket. */
class PostgresWire {
  /** Called when the server has sent something. */
  onData = () => {}
  /** Called when the connection ends, with the reason. */
  onEnd: (why?: Error) => void = () => {}
  /** Whether the last statement that has ended has failed. */
  hasFailed = false
  /** The last bytes that the server sent. */
  readonly #tail = Buffer.alloc(READY_AND_IDLE.length)
  #lastWords: LastWords | undefined
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
      this.#lastWords = lastWordsIn(chunk)
      this.onData()
    })
    const onclose = () => this.onEnd(closedError(this.#lastWords))
    const types = { fetch_types: false, types: VALUE_TYPES }
    this.#sql = client(start, take, { max: 1, max_lifetime: null, ...types, onclose })
  }

  /** Whether the server is in no transaction, and has sent nothing since it said so. Only true if no statement runs. */
  get isIdle(): boolean {
    return this.#tail.equals(READY_AND_IDLE)
  }

  /** Runs a statement after those that were sent before. @throws the error of the statement or the connection */
  async send(text: string, parameters: ParameterOrJSON<never>[], options: RunOptions): Promise<object> {
    if (this.hasFailed) this.#sql.unsafe('select 1').catch(() => {})
    this.hasFailed = false
    const query = this.#sql.unsafe(text, parameters.map(asText), { prepare: options.prepare })
    if (!options.prepare) Object.defineProperty(query, 'describeFirst', { get: () => false, set: () => {} })
    try {
      return await (options.bytes ? query.raw() : query)
    } catch (error) {
      this.hasFailed = true
      throw error
    }
  }

  /** The bytes of `COPY … TO STDOUT`, read no faster than they are taken. */
  async *copy(text: string): AsyncGenerator<Uint8Array, void, undefined> {
    const query = this.#sql.unsafe(text)
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
