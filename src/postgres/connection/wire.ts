import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { ParameterOrJSON, Sql } from 'postgres'
import { closedError } from '../failures.ts'
import type { RunOptions } from '../statement.ts'
import { client, type Parameters } from './client.ts'
import { type Backend, cancelBackend, openSocket, type Route } from './socket.ts'
import type { PostgresUrl } from './url.ts'
import { asText, valueTypes } from './value-types.ts'

/** How one connection starts. */
export interface Start {
  url: PostgresUrl
  route: Route
  parameters: Parameters
}

/** What a connection sends its statements through: postgres.js on a socket, or a simulation. */
export interface Wire {
  /** Bytes received. */
  readonly bytesRead: number
  /** Called when the connection ends, for whatever reason. */
  onEnd: () => void
  /**
   * Runs one statement, after the previous one has ended.
   * @throws the error of the statement or the connection
   */
  send(text: string, parameters: ParameterOrJSON<never>[], options: RunOptions): Promise<object>
  /** The bytes of `COPY … TO STDOUT`, read no faster than they are taken. */
  copy(text: string): AsyncGenerator<Uint8Array, void, undefined>
  /** As cancelBackend(). */
  cancel(backend: Backend, timeoutMs: number): Promise<void>
  /** Says goodbye to the server, and closes after `timeoutMs` at the latest. */
  close(timeoutMs: number): Promise<void>
  /** Closes at once. No statement may be waiting for its answer. */
  destroy(): void
}

/** Opens a wire. @throws as openSocket() */
export type Dial = (start: Start, timeoutMs: number) => Promise<Wire>

export const dialPostgres: Dial = async (start, timeoutMs) =>
  new PostgresWire(start, await openSocket(start.route, timeoutMs))

/** postgres.js on one open socket. */
class PostgresWire implements Wire {
  onEnd = () => {}
  #hasFailed = false
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
    this.#sql = client(start.url, start.parameters, take, {
      max: 1,
      max_lifetime: null,
      prepare: start.url.prepare,
      fetch_types: false,
      types: valueTypes(),
      onclose: () => this.onEnd(),
    })
  }

  get bytesRead(): number {
    return this.socket.bytesRead
  }

  async send(text: string, parameters: ParameterOrJSON<never>[], options: RunOptions): Promise<object> {
    // postgres.js 3.4.9 keeps the rows that came before an error, and appends the next rows to them. It starts
    // from 0 only after a statement that succeeded.
    if (this.#hasFailed) await this.#sql.unsafe('select 1')
    this.#hasFailed = false
    const query = this.#sql.unsafe(text, parameters.map(asText), { prepare: options.prepare })
    // For an unprepared statement postgres.js 3.4.9 asks for the parameter types first: one round trip more. Every
    // parameter has a cast, so the types are not needed.
    if (!options.prepare) Object.defineProperty(query, 'describeFirst', { get: () => false, set: () => {} })
    try {
      return await (options.bytes ? query.raw() : query)
    } catch (error) {
      this.#hasFailed = true
      throw error
    }
  }

  async *copy(text: string): AsyncGenerator<Uint8Array, void, undefined> {
    const query = this.#sql.unsafe(text)
    // postgres.js 3.4.9 returns the stream one turn of the event loop after it was made. Without a listener, an error
    // that came with the first bytes would end the process.
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

  async close(timeoutMs: number): Promise<void> {
    await this.#sql.end({ timeout: timeoutMs / 1000 }).catch(() => {})
    this.socket.destroy()
  }

  destroy(): void {
    this.socket.destroy()
    this.#sql.end({ timeout: 0 }).catch(() => {})
  }
}
