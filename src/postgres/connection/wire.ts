import type { Socket } from 'node:net'
import type { ParameterOrJSON, Sql } from 'postgres'
import { listenAtOnce, sendAtOnce } from '../at-once.ts'
import type { RunOptions } from '../statement.ts'
import { type Backend, cancelBackend } from './cancel.ts'
import { client, type Login, type Parameters } from './client.ts'
import type { Wanted } from './session.ts'
import { openSocket, type Route } from './socket.ts'
import { closed } from './timeouts.ts'
import { asText, valueTypes } from './value-types.ts'

/** What a connection is to be. */
export interface Start {
  login: Login
  route: Route
  parameters: Parameters
  prepare: boolean
  wanted: Wanted
}

/** What a connection speaks through: postgres.js over a socket, or a simulation of both. */
export interface Wire {
  /** Bytes that have come. */
  readonly bytesRead: number
  /** Called when it has ended, in whatever way. */
  onEnd: () => void
  /**
   * Runs one statement; the one before has ended.
   * @throws the error of the statement or the connection
   */
  send(text: string, parameters: ParameterOrJSON<never>[], options: RunOptions): Promise<object>
  /** What `COPY … TO STDOUT` sends, as it comes and no faster than it is taken; the statement before has ended. */
  copy(text: string): AsyncGenerator<Uint8Array, void, undefined>
  /** As cancelBackend() has it. */
  cancel(backend: Backend, patience: number): Promise<void>
  /** Says goodbye; ends it in so many milliseconds at most. */
  close(patience: number): Promise<void>
  /** Ends it at once; nobody may wait for an answer. */
  destroy(): void
}

/**
 * Opens the way that a connection speaks through.
 * @param patience milliseconds until it has to be open
 * @throws as openSocket()
 */
export type Dial = (start: Start, patience: number) => Promise<Wire>

export const dialPostgres: Dial = async (start, patience) =>
  new PostgresWire(start, await openSocket(start.route, patience))

/** postgres.js over one socket that is open. */
class PostgresWire implements Wire {
  onEnd = () => {}
  /** Whether the last statement failed. */
  #isUnsettled = false
  readonly #sql: Sql

  constructor(
    private readonly start: Start,
    private readonly socket: Socket,
  ) {
    let isTaken = false
    const take = async () => {
      if (isTaken || socket.destroyed) throw closed()
      isTaken = true
      return socket
    }
    this.#sql = client(start.login, start.parameters, take, {
      max: 1,
      max_lifetime: null,
      prepare: start.prepare,
      fetch_types: false,
      types: valueTypes(),
      onclose: () => this.onEnd(),
    })
  }

  get bytesRead(): number {
    return this.socket.bytesRead
  }

  async send(text: string, parameters: ParameterOrJSON<never>[], options: RunOptions): Promise<object> {
    // postgres.js 3.4.9 puts the next rows behind those that came before an error: it counts from 0 again
    // only after a statement that came to its end.
    if (this.#isUnsettled) await this.#sql.unsafe('select 1')
    this.#isUnsettled = false
    const query = this.#sql.unsafe(text, parameters.map(asText), { prepare: options.prepare })
    if (!options.prepare) sendAtOnce(query)
    try {
      return await (options.bytes ? query.raw() : query)
    } catch (error) {
      this.#isUnsettled = true
      throw error
    }
  }

  async *copy(text: string): AsyncGenerator<Uint8Array, void, undefined> {
    const query = this.#sql.unsafe(text)
    listenAtOnce(query)
    yield* await query.readable()
    // The stream of postgres.js 3.4.9 may have paused the socket, and reads it no more once it has come to its end.
    this.socket.resume()
  }

  cancel(backend: Backend, patience: number): Promise<void> {
    return cancelBackend(this.start.route, backend, patience)
  }

  async close(patience: number): Promise<void> {
    await this.#sql.end({ timeout: patience / 1000 }).catch(() => {})
    this.socket.destroy()
  }

  destroy(): void {
    this.socket.destroy()
    this.#sql.end({ timeout: 0 }).catch(() => {})
  }
}
