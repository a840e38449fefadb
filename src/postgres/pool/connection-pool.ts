import { SYSTEM_CLOCK } from '../connection/clock.ts'
import type { Connection, Open } from '../connection/connection.ts'
import {
  ClientGone,
  closedError,
  DatabaseUnavailable,
  Displaced,
  isTimeout,
  QueueTimeout,
  reasonOf,
} from '../failures.ts'
import { Availability, type StateLog } from './availability.ts'
import { FairQueue, SHARED_LANE } from './fair-queue.ts'

/** The limits of a pool. */
export interface PoolBounds {
  /** Connections at most. */
  size: number
  /** For a connection, and for any sign of life from the database. */
  waitMs: number
  /** For a statement, which the server ends then, and for a lease, whose connection is dropped a second later. */
  statementMs: number
  /** From which a statement is logged as slow. */
  slowMs: number
}

/** up: connections can be opened, as far as is known. down: nothing is sent; a probe ends it. closed: for good. */
type State = 'up' | 'down' | 'closed'

/** A connection that was idle for longer is tested before use: a firewall may have dropped it. */
const MAX_IDLE_MS = 30_000

/** When writes are refused, all connections are replaced this often at most. */
const REPLACE_INTERVAL_MS = 30_000

/** For clients, while the database is down. */
const RETRY_AFTER_SECONDS = 2

interface Waiter {
  take(connection: Connection): void
  fail(error: Error): void
}

/** A pool of at most `size` connections, with a queue of lanes, which survives any failure of the database. */
export class ConnectionPool {
  readonly availability: Availability
  #state: State = 'up'
  /** Leased, idle, or while a statement is cancelled. */
  readonly connections = new Set<Connection>()
  /** Those without a lease. The one used last is taken first. */
  #idle: Connection[] = []
  #opening = 0
  readonly #queue = new FairQueue<Waiter>()
  /** When the database last gave a sign of life, by the clock. */
  heardAt = 0
  #replacedAt = Number.NEGATIVE_INFINITY
  /** Stops the pause before the next attempt to open a connection; undefined if there is no pause. */
  #stopPause: (() => void) | undefined

  constructor(
    readonly open: Open,
    readonly bounds: PoolBounds,
    protected readonly log: StateLog,
    readonly clock = SYSTEM_CLOCK,
  ) {
    this.availability = new Availability(log, clock)
  }

  /** The one place that changes the state, with all that follows from it. */
  #become(state: State, reason = ''): void {
    const before = this.#state
    if (before === 'closed') return
    this.#state = state
    if (state !== 'down' || before !== 'down') {
      this.#stopPause?.()
      this.#stopPause = undefined
    }
    if (state === 'up') this.availability.noteReachable()
    if (state === 'down') this.availability.noteUnreachable(reason)
    const refusal = this.#refusal()
    if (refusal) for (const waiter of this.#queue.all()) waiter.fail(refusal)
    if (state !== 'down') return
    for (const connection of this.connections) connection.destroy()
    this.#pause()
  }

  /** The error of all statements in a state that sends none. */
  #refusal(): Error | undefined {
    if (this.#state === 'closed') return new DatabaseUnavailable('the service is stopping')
    const { unreachable } = this.availability
    return unreachable === undefined ? undefined : new DatabaseUnavailable(unreachable, RETRY_AFTER_SECONDS)
  }

  /** The database does not answer: all that runs or waits fails now. */
  lose(reason: string): void {
    this.#become('down', reason)
  }

  /** Cancels what runs, fails what waits, and ends all connections. */
  async close(): Promise<void> {
    this.#become('closed')
    const idle = new Set(this.#idle)
    const end = (each: Connection) => (idle.has(each) ? each.close() : each.giveUp(closedError()))
    await Promise.all(Array.from(this.connections, end))
  }

  stats(): { inUse: number; idle: number; waiting: number } {
    const idle = this.#idle.length
    const usable = [...this.connections].filter(connection => !connection.isGivenUp).length
    return { inUse: usable - idle, idle, waiting: this.#queue.size }
  }

  /** Whether the next acquire() has to wait for a release(). */
  isBusy(): boolean {
    return this.#idle.length === 0 && this.#isFull
  }

  /** Leases a connection, to be released. @throws DatabaseUnavailable, QueueTimeout, Displaced, ClientGone */
  async acquire(lane: string, signal: AbortSignal | undefined): Promise<Connection> {
    for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop()) {
      const now = this.clock.now()
      if (now >= connection.expiresAt) connection.destroy()
      else if (now - connection.usedAt < MAX_IDLE_MS) return connection
      else if (await connection.isUsable()) return connection
      // The others were idle for longer.
      else for (const other of [...this.#idle]) other.destroy()
    }
    const refusal = signal?.aborted ? new ClientGone() : this.#refusal()
    if (refusal) throw refusal
    return await this.#enqueue(lane, signal)
  }

  /** Ends a lease. Hands the connection to the next one, unless it has ended or is not idle. */
  release(connection: Connection): void {
    connection.leasedSince = undefined
    // A cancel request on its way would hit the next statement.
    if (connection.cancelling) return void connection.cancelling.then(() => this.release(connection))
    if (connection.isOver) return
    this.heardAt = Math.max(this.heardAt, connection.usedAt)
    if (!connection.isIdle) void connection.giveUp()
    else if (this.clock.now() < connection.expiresAt) this.#hand(connection)
    else connection.destroy()
  }

  /** Fails the last waiter of the longest lane, so that one more can wait in `lane`; false if no lane is longer. */
  displace(lane = SHARED_LANE): boolean {
    const last = this.#queue.lastBut(lane)
    last?.fail(new Displaced('others have their turn'))
    return last !== undefined
  }

  /** Uses no open connection again; unless it `isCertain` that new ones lead to another server, now and then only. */
  replaceAll(isCertain: boolean): void {
    const now = this.clock.now()
    if (!isCertain && now - this.#replacedAt <= REPLACE_INTERVAL_MS) return
    this.#replacedAt = now
    for (const connection of this.connections) connection.expiresAt = Number.NEGATIVE_INFINITY
  }

  async #enqueue(lane: string, signal: AbortSignal | undefined): Promise<Connection> {
    const { promise, resolve, reject } = Promise.withResolvers<Connection>()
    const fail = (error: Error) => {
      this.#queue.delete(lane, waiter)
      reject(error)
    }
    const waiter: Waiter = { take: resolve, fail }
    this.#queue.add(lane, waiter)
    const tooLate = () => fail(new QueueTimeout('all connections to the database are in use'))
    const cancelTimeout = this.clock.after(this.bounds.waitMs, tooLate)
    const hangUp = () => fail(new ClientGone())
    signal?.addEventListener('abort', hangUp, { once: true })
    this.#grow()
    try {
      return await promise
    } finally {
      cancelTimeout()
      signal?.removeEventListener('abort', hangUp)
    }
  }

  #hand(connection: Connection): void {
    const next = this.#queue.next()
    if (next) next.take(connection)
    else this.#idle.push(connection)
  }

  get #isFull(): boolean {
    return this.connections.size + this.#opening >= this.bounds.size
  }

  /** Opens connections for those that wait. */
  #grow(): void {
    if (this.#state !== 'up' || this.#stopPause) return
    while (this.#queue.size > this.#opening && !this.#isFull) void this.#add()
  }

  async #add(attempt = 1): Promise<void> {
    const since = this.clock.now()
    this.#opening++
    let connection: Connection
    try {
      connection = await this.open(this.bounds.waitMs)
      if (connection.isOver) throw closedError()
    } catch (error) {
      this.#opening--
      return this.#failed(error, since, attempt)
    }
    this.#opening--
    this.heardAt = this.clock.now()
    // Opened before all were replaced: it may lead to the former server.
    if (since <= this.#replacedAt) connection.expiresAt = Number.NEGATIVE_INFINITY
    if (this.#state === 'closed') return await connection.close()
    this.connections.add(connection)
    connection.onEnd = () => this.#ended(connection)
    this.#become('up')
    this.#hand(connection)
    this.#grow()
  }

  /** No connection could be opened. If none is left, the database is down. */
  #failed(error: unknown, since: number, attempt: number): void {
    const hasOthers = [...this.connections].some(connection => !connection.isGivenUp)
    const isSilent = isTimeout(error)
    // The cause may have cut all connections, and have passed.
    if (!hasOthers && attempt === 1 && this.#state === 'up' && !isSilent) void this.#add(2)
    else if (hasOthers && (!isSilent || this.heardAt > since)) {
      this.availability.noteRefusedConnection(reasonOf(error))
      this.#pause()
    } else this.lose(reasonOf(error))
  }

  /** After a pause, opens a connection: for those that wait, or as a probe, which does not wait for the one before. */
  #pause(): void {
    this.#stopPause ??= this.clock.after(this.availability.nextPauseMs(), () => {
      this.#stopPause = undefined
      if (this.#state !== 'down') return this.#grow()
      if (!this.#isFull) void this.#add()
      this.#pause()
    })
  }

  #ended(connection: Connection): void {
    this.connections.delete(connection)
    this.#idle = this.#idle.filter(other => other !== connection)
    // What cut this one may have cut the idle ones too: they are tested before use.
    const isCut = !connection.isGivenUp && this.clock.now() < connection.expiresAt
    if (isCut) for (const other of this.#idle) other.usedAt = Number.NEGATIVE_INFINITY
    this.#grow()
  }
}
