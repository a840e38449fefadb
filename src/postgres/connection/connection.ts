import type { ParameterOrJSON } from 'postgres'
import { closedError, codedError, timeoutError } from '../failures.ts'
import { onlyRow, type RunOptions } from '../statement.ts'
import { type Clock, onTimeout } from './clock.ts'
import type { Backend } from './socket.ts'
import { type ServerState, TARGETS } from './url.ts'
import type { Dial, Start, Wire } from './wire.ts'

/** A connection is used for an hour at most, and for half of it at least: the host name may lead elsewhere by then. */
const LIFETIME_MS = 60 * 60_000
const CLOSE_TIMEOUT_MS = 1000
const PING_TIMEOUT_MS = 1000

/** For the server to accept a cancel request. */
const CANCEL_TIMEOUT_MS = 2000

/** The time of its start, to the microsecond, identifies a server. */
const IDENTITY = `
  select pg_backend_pid() as pid, extract(epoch from pg_postmaster_start_time())::text as server,
    pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "isReadOnly"`

type Identity = ServerState & { pid: number; server: string }

/** Opens one more connection within `timeoutMs`. */
export type Open = (timeoutMs: number) => Promise<Connection>

/** One connection, which is leased to one request at a time and is never reopened. */
export class Connection {
  /** When it was last used, and from when it is not used again, by the clock. */
  usedAt: number
  expiresAt: number
  /** When its lease began; undefined without one. */
  leasedSince: number | undefined
  /** When the first of the running statements was sent; undefined if none is running. */
  runningSince: number | undefined
  /** Which server this is; undefined behind a pooler. */
  server: string | undefined
  isStandby = false
  isOver = false
  /** It is not used again, and ends when its statement is cancelled. */
  isGivenUp = false
  /** Called once when the connection ends, for whatever reason. */
  onEnd = () => {}
  /** The server process, as the protocol reported it. */
  backend!: Backend
  /** Resolves when no cancel request is on its way any more; undefined if none is. */
  cancelling: Promise<void> | undefined
  /** Bytes at the last call of silentMs(), and when it last found more than before. */
  #bytesRead = 0
  #heardAt = 0
  /** How many statements run. */
  #running = 0
  /** Why no statement can be sent any more. */
  #why: unknown
  /** Fail the running statements, in the order in which they were sent. */
  readonly #rejects = new Set<(error: unknown) => void>()

  private constructor(
    readonly start: Start,
    private readonly wire: Wire,
    private readonly clock: Clock,
  ) {
    this.usedAt = clock.now()
    this.expiresAt = this.usedAt + clock.jitter(LIFETIME_MS)
    wire.onEnd = () => this.#end(closedError())
  }

  /** @throws the error of the socket or of the server; codes ETIMEDOUT, NOT_WANTED */
  static async open(start: Start, timeoutMs: number, dial: Dial, clock: Clock): Promise<Connection> {
    const deadline = clock.now() + timeoutMs
    const connection = new Connection(start, await dial(start, timeoutMs), clock)
    await connection.#identify(deadline - clock.now())
    return connection
  }

  async #identify(timeoutMs: number): Promise<void> {
    const rows = (await this.query(IDENTITY, timeoutMs)) as Identity[] & { state: Backend }
    const identity = onlyRow(rows)
    this.backend = rows.state
    // A pooler invents the pid of the protocol, and may run the next statement in another process.
    this.server = identity.pid === this.backend.pid ? identity.server : undefined
    this.isStandby = identity.isStandby
    if (TARGETS[this.start.url.target](identity)) return
    void this.close()
    throw codedError('NOT_WANTED', 'the server is not of the kind that target_session_attrs names')
  }

  /** Whether the server still answers, and still is of the kind asked for; if not, the connection ends. */
  async isUsable(timeoutMs = PING_TIMEOUT_MS): Promise<boolean> {
    const identified = this.#identify(timeoutMs).then(() => true)
    return await identified.catch(() => false)
  }

  /** Runs a statement without parameters. Any failure ends the connection. @throws as run(); code ETIMEDOUT */
  async query(text: string, timeoutMs: number): Promise<object> {
    const settle = onTimeout(timeoutMs, () => this.destroy(timeoutError()), this.clock)
    const rows = this.run(text, [], { prepare: false }).catch(error => {
      this.destroy(error)
      throw error
    })
    return await rows.finally(settle)
  }

  /**
   * Runs a statement. Those that are sent without awaiting between them travel in one round trip, and run in their order.
   * @throws the error of the statement or the connection; why it was ended, if it was
   */
  async run(text: string, parameters: ParameterOrJSON<never>[], options: RunOptions): Promise<object> {
    if (this.#why !== undefined) throw this.#why
    // Behind a pooler, another process may run the next statement, without what this one has prepared.
    const possible = this.server === undefined ? { ...options, prepare: false } : options
    // A fresh promise per statement: racing one long-lived promise would leak a reaction per statement.
    const { promise, resolve, reject } = Promise.withResolvers<object>()
    this.#rejects.add(reject)
    this.wire.send(text, parameters, possible).then(resolve, error => {
      reject(error)
      // postgres.js 3.4.9 never settles statements that it has not sent when the connection ends.
      if (this.isOver) this.#abandon(error)
    })
    try {
      return await this.#timed(promise)
    } finally {
      this.#rejects.delete(reject)
    }
  }

  /** As Wire.copy(). A reader that stops early has to end the connection. @throws as run(), also between two chunks */
  async *copy(text: string): AsyncGenerator<Uint8Array> {
    if (this.#why !== undefined) throw this.#why
    const chunks = this.wire.copy(text)
    try {
      for (;;) {
        const next = await this.#timed(chunks.next())
        if (next.done) break
        yield next.value
      }
    } finally {
      await chunks.return(undefined)
    }
  }

  async #timed<Result>(work: Promise<Result>): Promise<Result> {
    this.#running++
    this.runningSince ??= this.clock.now()
    try {
      return await work
    } finally {
      this.#running--
      if (this.#running === 0) this.runningSince = undefined
      this.usedAt = this.clock.now()
    }
  }

  /** Whether another request can have it: no statement runs, and the server is in no transaction. */
  get isIdle(): boolean {
    return this.#why === undefined && this.#running === 0 && this.wire.isIdle
  }

  /** For how long a running statement has received nothing, as exactly as this is called often; 0 if none is running. */
  silentMs(now: number): number {
    const { bytesRead } = this.wire
    if (bytesRead !== this.#bytesRead) this.#heardAt = now
    this.#bytesRead = bytesRead
    return this.runningSince === undefined ? 0 : now - Math.max(this.runningSince, this.#heardAt)
  }

  /** Cancels the running statement; no other may run until this resolves. If that is not known, the connection ends. */
  cancel(): Promise<void> {
    this.cancelling ??= this.wire
      .cancel(this.backend, CANCEL_TIMEOUT_MS)
      .catch(() => this.destroy(timeoutError()))
      .finally(() => (this.cancelling = undefined))
    return this.cancelling
  }

  /**
   * Ends the connection, after cancelling what runs: see cancelBackend(). Statements that run, and those that a lease
   * still wants to send, fail with `error` at once.
   */
  async giveUp(error: unknown = timeoutError()): Promise<void> {
    this.isGivenUp = true
    this.expiresAt = Number.NEGATIVE_INFINITY
    this.#why ??= error
    const isRunning = this.#running > 0
    this.#abandon(error)
    if (isRunning || this.cancelling) await this.cancel()
    this.destroy()
  }

  /** Ends the connection at once; running and later statements fail with `error`. */
  destroy(error: unknown = closedError()): void {
    this.#abandon(error)
    this.wire.destroy()
    this.#end(error)
  }

  #abandon(error: unknown): void {
    for (const reject of this.#rejects) reject(error)
  }

  /** Says goodbye to the server and ends the connection. A running statement fails: it leaves no way to say goodbye. */
  async close(): Promise<void> {
    if (this.#running > 0) this.destroy()
    this.#end(closedError())
    await this.wire.close(CLOSE_TIMEOUT_MS)
  }

  #end(why: unknown): void {
    if (this.isOver) return
    this.isOver = true
    this.#why ??= why
    this.onEnd()
  }
}
