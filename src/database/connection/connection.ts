import type { ParameterOrJSON } from 'postgres'
import { closedError, codedError, timeoutError } from '../failures.ts'
import { onlyRow, type RunOptions } from '../statement.ts'
import { type ServerState, TARGETS } from '../url.ts'
import { type Clock, onTimeout } from './clock.ts'
import { type ConnectionState, FOLLOWERS } from './connection-state.ts'
import type { Backend } from './socket.ts'
import type { Dial, Start, Wire } from './wire.ts'

/** A connection is used for an hour at most, and for half of it at least: the host name may lead elsewhere by then. */
const LIFETIME_MS = 60 * 60_000
const CLOSE_TIMEOUT_MS = 1000
const TEST_TIMEOUT_MS = 1000

/** For the server to accept a cancel request. */
const CANCEL_TIMEOUT_MS = 2000

/** The time of its start, to the microsecond, identifies a server. */
const IDENTITY = `
  select pg_backend_pid() as pid, extract(epoch from pg_postmaster_start_time())::text as server,
    pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "isReadOnly"`

type Identity = ServerState & { pid: number; server: string }

/** Opens one more connection within `timeoutMs`, unless the signal ends the attempt. */
export type Open = (timeoutMs: number, signal?: AbortSignal) => Promise<Connection>

/** One connection, which one request at a time may take, and which is never reopened. */
export class Connection {
  /** By the clock: when it has to be replaced, and when the server was last heard. */
  readonly expiresAt: number
  heardAt: number
  /** Which server this is; undefined behind a pooler. */
  server: string | undefined
  isStandby = false
  /** The server process, as the protocol reported it. */
  backend!: Backend
  /** Called by release(), and when it is idle later because a cancel request had to be accepted. */
  onRelease = () => {}
  /** Called once when the connection ends, for whatever reason. */
  onEnd = () => {}
  #state: ConnectionState = { is: 'opening' }
  /** The statements that run, in the order in which they were sent. */
  readonly #statements = new Set<{ sentAt: number; reject(error: unknown): void }>()

  /** @param dialledAt when its host was looked up and called, by the clock */
  private constructor(
    readonly start: Start,
    private readonly wire: Wire,
    private readonly clock: Clock,
    readonly dialledAt: number,
  ) {
    this.heardAt = clock.now()
    this.expiresAt = dialledAt + clock.jitter(LIFETIME_MS)
    wire.onData = () => {
      this.heardAt = clock.now()
    }
    wire.onEnd = (why = closedError()) => this.#end(why)
  }

  /** @throws the error of the socket or of the server; codes ETIMEDOUT, NOT_WANTED, CONNECTION_CLOSED */
  static async open(
    start: Start,
    timeoutMs: number,
    dial: Dial,
    clock: Clock,
    signal?: AbortSignal,
  ): Promise<Connection> {
    const dialledAt = clock.now()
    const wire = await dial(start, timeoutMs, signal)
    const connection = new Connection(start, wire, clock, dialledAt)
    const abort = () => connection.destroy()
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort, { once: true })
    try {
      await connection.#identify(dialledAt + timeoutMs - clock.now())
    } finally {
      signal?.removeEventListener('abort', abort)
    }
    if (connection.isClosed) throw closedError()
    connection.#become({ is: 'idle', since: clock.now() })
    return connection
  }

  get state(): ConnectionState {
    return this.#state
  }

  get isClosed(): boolean {
    return this.#state.is === 'closed'
  }

  /** Whether nobody will get it any more: it is closed, or will be when its statement is cancelled. */
  get isEnding(): boolean {
    return this.isClosed || (this.#state.is === 'cancelling' && this.#state.next.is === 'closed')
  }

  /** Who has taken it, and until when, by the clock; undefined if nobody has. */
  get taken(): { until: number; lane: string } | undefined {
    const last = 'next' in this.#state ? this.#state.next : this.#state
    return last.is === 'running' ? last : undefined
  }

  /** Whether a statement runs. */
  get isBusy(): boolean {
    return this.#statements.size > 0
  }

  /** For how long a running statement has received nothing; 0 if none is running. */
  silentMs(now: number): number {
    const [first] = this.#statements
    return first === undefined ? 0 : now - Math.max(first.sentAt, this.heardAt)
  }

  #become(state: ConnectionState): void {
    if (!FOLLOWERS[this.#state.is].includes(state.is))
      throw new Error(`a connection that is ${this.#state.is} cannot become ${state.is}`)
    this.#state = state
  }

  async #identify(timeoutMs: number): Promise<void> {
    const rows = (await this.#ask(IDENTITY, timeoutMs)) as Identity[] & { state: Backend }
    const identity = onlyRow(rows)
    this.backend = rows.state
    // A pooler invents the pid of the protocol, and may run the next statement in another process.
    this.server = identity.pid === this.backend.pid ? identity.server : undefined
    this.isStandby = identity.isStandby
    if (TARGETS[this.start.url.target](identity)) return
    void this.close()
    throw codedError('NOT_WANTED', 'the server is not of the kind that target_session_attrs names')
  }

  /** Takes an idle connection, until release(). @param until when its time is over, by the clock */
  take(until = Number.POSITIVE_INFINITY, lane = ''): void {
    this.#become({ is: 'running', until, lane })
  }

  /** Whether a connection still answers, and its server still is of the kind asked for. If not, it ends. */
  async test(timeoutMs = TEST_TIMEOUT_MS): Promise<boolean> {
    const before = this.#state
    if (before.is !== 'idle' && before.is !== 'running') return false
    this.#become({ is: 'testing', next: before })
    // A failed test closes it.
    await this.#identify(timeoutMs).catch(() => {})
    if (this.isClosed) return false
    this.#become(before)
    return true
  }

  /** Ends what take() began. A connection with a running statement or an open transaction ends: see giveUp(). */
  release(): void {
    const state = this.#state
    const idle = { is: 'idle', since: this.clock.now() } as const
    if (state.is === 'cancelling' && state.next.is === 'running')
      this.#become({ is: 'cancelling', next: idle })
    else if (state.is === 'running' && !this.#isReusable) void this.giveUp()
    else if (state.is === 'running') this.#become(idle)
    this.onRelease()
  }

  /**
   * Whether another request may have it. After a failure, the wire sends a statement ahead of the next one, and PgBouncer
   * before 1.21 can give the answer to such a statement to another client, if this one leaves at that moment.
   */
  get #isReusable(): boolean {
    const isPooled = this.server === undefined
    return !this.isBusy && this.wire.isIdle && !(isPooled && this.wire.hasFailed)
  }

  /** Takes an idle connection for a statement without parameters. Any failure ends it. @throws as run(); code ETIMEDOUT */
  async query(text: string, timeoutMs: number): Promise<object> {
    this.#requireOpen()
    this.take()
    try {
      return await this.#ask(text, timeoutMs)
    } finally {
      this.release()
    }
  }

  async #ask(text: string, timeoutMs: number): Promise<object> {
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
    this.#requireOpen()
    // Behind a pooler, another process may run the next statement, without what this one has prepared.
    const possible = this.server === undefined ? { ...options, prepare: false } : options
    // A fresh promise per statement: racing one long-lived promise would leak a reaction per statement.
    const { promise, resolve, reject } = Promise.withResolvers<object>()
    const statement = this.#begin(reject)
    this.wire.send(text, parameters, possible).then(resolve, reject)
    try {
      return await promise
    } finally {
      this.#statements.delete(statement)
    }
  }

  /** As Wire.copy(). A reader that stops early has to end the connection. @throws as run(), also between two chunks */
  async *copy(text: string): AsyncGenerator<Uint8Array> {
    this.#requireOpen()
    const chunks = this.wire.copy(text)
    try {
      for (;;) {
        const statement = this.#begin(() => {})
        const next = await chunks.next().finally(() => this.#statements.delete(statement))
        if (next.done) break
        yield next.value
      }
    } finally {
      await chunks.return(undefined)
    }
  }

  #requireOpen(): void {
    const last = this.#state.is === 'cancelling' ? this.#state.next : this.#state
    if (last.is === 'closed') throw last.why
  }

  #begin(reject: (error: unknown) => void) {
    const statement = { sentAt: this.clock.now(), reject }
    this.#statements.add(statement)
    return statement
  }

  /** Cancels the running statement. If it is not known whether the server has accepted that, the connection ends. */
  cancel(): void {
    if (this.#state.is === 'running') void this.#cancel(this.#state)
  }

  /** Each connection has at most one cancel request on its way. */
  async #cancel(next: Extract<ConnectionState, { is: 'running' | 'closed' }>): Promise<void> {
    this.#become({ is: 'cancelling', next })
    const isAccepted = await this.wire.cancel(this.backend, CANCEL_TIMEOUT_MS).then(
      () => true,
      () => false,
    )
    const state = this.#state
    if (state.is !== 'cancelling') return
    if (state.next.is === 'closed') return this.destroy(state.next.why)
    if (!isAccepted) return this.destroy(timeoutError())
    if (state.next.is === 'running') return this.#become(state.next)
    this.#become({ is: 'running', until: state.next.since, lane: '' })
    this.release()
  }

  /**
   * Ends the connection, after cancelling what runs: see cancelBackend(). Statements that run, and those that a lease
   * still wants to send, fail with `why` at once.
   */
  async giveUp(why: unknown = timeoutError()): Promise<void> {
    const state = this.#state
    const { isBusy } = this
    this.#abandon(why)
    if (state.is === 'cancelling') {
      if (state.next.is !== 'closed') this.#become({ is: 'cancelling', next: { is: 'closed', why } })
    } else if (isBusy && state.is === 'running') await this.#cancel({ is: 'closed', why })
    else this.destroy(why)
  }

  /** Ends the connection at once; running and later statements fail with `why`. */
  destroy(why: unknown = closedError()): void {
    this.#end(why)
    this.wire.destroy()
  }

  #abandon(why: unknown): void {
    for (const { reject } of this.#statements) reject(why)
  }

  /** Says goodbye to the server and ends the connection. A running statement fails: it leaves no way to say goodbye. */
  async close(): Promise<void> {
    if (this.isBusy) this.destroy()
    this.#end(closedError())
    await this.wire.close(CLOSE_TIMEOUT_MS)
  }

  #end(why: unknown): void {
    if (this.isClosed) return
    this.#become({ is: 'closed', why })
    this.#abandon(why)
    this.onEnd()
  }
}
