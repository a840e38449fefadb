import type { Socket } from 'node:net'
import { Duplex, Readable } from 'node:stream'
import postgres, { type Options, type ParameterOrJSON, type PostgresType, type Sql } from 'postgres'
import { closedError } from './failures.ts'
import { backendReader, lastWordsIn } from './messages.ts'
import { type Backend, cancelBackend, openSocket, type Route } from './socket.ts'
import type { RunOptions } from './statement.ts'
import type { PostgresUrl } from './url.ts'
import { asText } from './value-types.ts'

/*
 * The one way to a connection: postgres.js 3.4.9 with its own pool, on sockets that socket.ts opens. What it does beyond
 * its documentation is answered here. test/database/postgres-js.long.test.ts has a test for each, which fails when a new
 * version no longer does it: then the answer can go.
 *
 * - If the first connection of a statement is closed without an error, it connects again for ever, and without a pause; and
 *   it forgets the error with which a server ends a connection. So each end is told as an error: #attend().
 * - It loses a place of its pool when it gets no socket. So it gets one that fails: failed().
 * - It closes its half of a connection alone, and waits for the other half for ever: #attend() closes both.
 * - It loses a place of its pool when a statement is cancelled before it was sent, and an error of its cancel request
 *   reaches nobody. So cancel() is not its own, and is for statements that were sent.
 * - It asks the server for the types of the parameters of each statement that is not prepared, which takes a round trip,
 *   in the middle of the statement. Here every parameter has a cast: undescribed().
 * - It keeps the rows that came before an error, and puts the next rows after them: withoutHoles().
 * - It keeps the error with which a server ended a connection, and fails the next statement of that place in its pool with
 *   it, before that is sent: ServingDatabase gives a statement that was not sent several attempts.
 * - If a connection ends while a statement waits to be written, it never settles the statement, and that place of its
 *   pool never writes again. This is mended in patches/, and tested in client.test.ts.
 * - It uses its connections in turn, so that no backend stays warm: patches/ takes the one that was used last. Tested there,
 *   too.
 * - In a transaction of its begin() whose connection was cut, a later statement throws outside of any promise, which would
 *   end the process: patches/ fails it. Tested there, too.
 * - It returns the stream of a COPY a turn of the event loop late, so that nobody can listen for an earlier error, which
 *   would end the process, and it may leave the socket paused: copy().
 * - Before it connects again, it waits for up to 20 seconds: backoff.
 */

/** For a server to end what it is asked to end. */
const GOODBYE_MS = 1000

/** A second for a cancel request to be accepted, and another one for its statement to end. */
export const CANCEL_MS = 1000

/** Options of postgres.js; it does not declare the last one. */
export type ClientOptions = Options<Record<string, PostgresType>> & { max_pipeline?: number }

/** How the connections of a client start. */
export interface Start {
  url: PostgresUrl
  route: Route
  /** Parameters of the server. */
  parameters: Record<string, string>
  /** As PostgresUrl has it, but read for each connection. */
  password?: PostgresUrl['login']['password'] | undefined
}

interface Connection {
  socket: Socket
  /** Undefined until the server has named it. */
  backend: Backend | undefined
  /** When the server was last heard, by performance.now(). */
  heardAt: number
  /** Whether pg_stat_activity of the server that the watchdog asks has had its process. */
  wasSeen: boolean
}

/** A statement that postgres.js was given. */
export interface SentStatement {
  at: number
  /** Settles when the statement has ended, or its connection has. */
  rows: Promise<object>
  /** The process that runs it; undefined if it was not sent yet. */
  pid(): number | undefined
}

/** A client of postgres.js. */
export class Client {
  readonly sql: Sql
  readonly #connections = new Set<Connection>()
  /**
   * No Set: an entry that was deleted from a Set holds those that came after it, and with them the rows of many statements
   * until a full garbage collection.
   */
  readonly #running: SentStatement[] = []
  /** When the last late statement was cancelled, by performance.now(). */
  cancelledAt = Number.NEGATIVE_INFINITY
  readonly #ending = new AbortController()
  #isSealed = false

  /** @param timeoutMs for a connection to be opened */
  constructor(
    private readonly start: Start,
    private readonly timeoutMs: number,
    options: ClientOptions,
  ) {
    const { url, parameters, password } = start
    // The instants of a platform are read from the text of a COPY.
    const connection = { application_name: 'axport', TimeZone: 'UTC', DateStyle: 'ISO', ...parameters }
    const own = { connection, backoff: 0.1, connect_timeout: timeoutMs / 1000, onnotice: () => {} }
    // openSocket() does what ssl and keep_alive are for.
    const socket = { socket: () => this.#open(), ssl: false, keep_alive: 0 }
    const all = {
      ...url.login,
      ...(password && { password }),
      prepare: url.prepare,
      ...own,
      ...socket,
      ...options,
    }
    this.sql = postgres(all as Options<Record<string, PostgresType>>)
  }

  /** How many connections can be used. */
  get size(): number {
    return this.pids.length
  }

  /** Their processes. */
  get pids(): number[] {
    return [...this.#connections].flatMap(({ backend }) => backend?.pid ?? [])
  }

  /** Those of these connections that were seen in pg_stat_activity. */
  get seen(): number[] {
    return [...this.#connections].flatMap(({ backend, wasSeen }) => (wasSeen && backend ? backend.pid : []))
  }

  /** Notes which processes were seen there. */
  noteSeen(pids: number[]): void {
    for (const connection of this.#connections)
      if (connection.backend && pids.includes(connection.backend.pid)) connection.wasSeen = true
  }

  /** When the server was last heard on an open connection. */
  get heardAt(): number {
    return Math.max(...[...this.#connections].map(({ heardAt }) => heardAt))
  }

  /** The statements that were sent so long ago, and on whose connections nothing was heard since. */
  silent(ms: number): SentStatement[] {
    const before = performance.now() - ms
    return this.#running.filter(({ at, pid }) => {
      const connection = this.#connectionTo(pid())
      return connection !== undefined && Math.max(at, connection.heardAt) < before
    })
  }

  /** Gives postgres.js a statement. @param onEnd is called when it has ended, before `rows` settles */
  send(
    text: string,
    parameters: ParameterOrJSON<never>[],
    { prepare, bytes }: RunOptions,
    onEnd = () => {},
  ): SentStatement {
    const query = this.sql.unsafe(text, parameters.map(asText), { prepare })
    if (!prepare || !this.start.url.prepare) undescribed(query)
    // Few promises: this is the way of every statement.
    const { promise: rows, resolve, reject } = Promise.withResolvers<object>()
    const sent = { at: performance.now(), rows, pid: () => processOf(query) }
    this.#running.push(sent)
    const settle = <Value>(act: (value: Value) => void, value: Value) => {
      this.#running.splice(this.#running.indexOf(sent), 1)
      onEnd()
      act(value)
    }
    ;(bytes ? query.raw() : query).then(
      found => settle(resolve, withoutHoles(found)),
      error => settle(reject, error),
    )
    rows.catch(() => {})
    return sent
  }

  /** The bytes of `COPY … TO STDOUT`, read no faster than they are taken. The client has one connection. */
  async *copy(text: string): AsyncGenerator<Uint8Array, void, undefined> {
    const query = this.sql.unsafe(text)
    const internal = query as unknown as { resolve(result: unknown): void }
    const { resolve } = internal
    internal.resolve = result => {
      if (result instanceof Readable) result.on('error', () => {})
      resolve(result)
    }
    yield* await query.readable()
    for (const { socket } of this.#connections) socket.resume()
  }

  /** Asks the server to end what a process runs. @throws if it is not known whether that was heard */
  async cancel(pid: number | undefined, timeoutMs: number): Promise<void> {
    const backend = this.#connectionTo(pid)?.backend
    if (backend) await cancelBackend(this.start.route, backend, timeoutMs)
  }

  /** Ends one connection; its statement fails with `why`. */
  cut(pid: number | undefined, why: Error): void {
    this.#connectionTo(pid)?.socket.destroy(why)
  }

  /** Ends all connections for good, and says goodbye. What runs is cancelled. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#running.map(({ pid }) => this.cancel(pid(), GOODBYE_MS)))
    await this.sql.end({ timeout: GOODBYE_MS / 1000 })
    this.destroy()
  }

  /** Ends all connections for good and at once; what runs fails with `why`. */
  destroy(why: Error = closedError()): void {
    this.#ending.abort()
    for (const { socket } of this.#connections) socket.destroy(why)
    void this.sql.end({ timeout: 0 })
  }

  #connectionTo(pid: number | undefined): Connection | undefined {
    if (pid === undefined) return undefined
    for (const connection of this.#connections) if (connection.backend?.pid === pid) return connection
    return undefined
  }

  /** Opens no further connection: what follows belongs to the one that is open, or fails. */
  seal(): void {
    this.#isSealed = true
  }

  async #open(): Promise<Duplex> {
    try {
      if (this.#isSealed) throw closedError()
      return this.#attend(await openSocket(this.start.route, this.timeoutMs, this.#ending.signal))
    } catch (error) {
      return failed(error as Error)
    }
  }

  /** Listens to a socket before postgres.js does. */
  #attend(socket: Socket): Socket {
    const heardAt = Number.NEGATIVE_INFINITY
    const connection: Connection = { socket, backend: undefined, heardAt, wasSeen: false }
    this.#connections.add(connection)
    const readBackend = backendReader()
    let lastWords: Error | undefined
    let hasFailed = false
    socket.on('data', (chunk: Buffer) => {
      connection.heardAt = performance.now()
      connection.backend ??= readBackend(chunk)
      lastWords = lastWordsIn(chunk)
    })
    socket.on('error', () => {
      hasFailed = true
    })
    socket.on('finish', () => setTimeout(() => socket.destroy(), GOODBYE_MS).unref())
    socket.on('close', () => {
      this.#connections.delete(connection)
      if (!hasFailed) socket.emit('error', lastWords ?? closedError())
    })
    return socket
  }
}

/** A socket that fails at once. */
function failed(error: Error): Duplex {
  const socket = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() })
  setImmediate(() => socket.destroy(error))
  return socket
}

/** The process of a statement, which postgres.js sets as its private `state` when it sends it. */
function processOf(query: object): number | undefined {
  return (query as { state: Backend | null }).state?.pid
}

/** Keeps postgres.js from setting the private property by which it decides to describe a statement first. */
function undescribed(query: object): void {
  Object.defineProperty(query, 'describeFirst', { get: () => false, set: () => {} })
}

const withoutHoles = (rows: object): object =>
  Array.isArray(rows) && rows.length > 0 && !(0 in rows) ? rows.filter(() => true) : rows
