import { type Clock, SYSTEM_CLOCK } from '../connection/clock.ts'
import type { Connection, Open } from '../connection/connection.ts'
import {
  ClientGone,
  closedError,
  DatabaseUnavailable,
  Displaced,
  isClosed,
  isTimeout,
  QueueTimeout,
  reasonOf,
} from '../failures.ts'
import { Attempts } from './attempts.ts'
import { GRACE_MS, type PoolBounds } from './bounds.ts'
import { FairQueue, SHARED_LANE } from './fair-queue.ts'
import { logChange, type PoolState, type StateLog } from './pool-state.ts'

/** A connection that was idle for longer is tested before use: a firewall may have dropped it. */
const MAX_IDLE_MS = 30_000

/** When writes are refused, all connections are replaced this often at most. */
const REPLACE_INTERVAL_MS = 30_000

/** Attempts to connect at a time while the database is down. */
const MAX_PROBES = 2

/** For clients, while the database is down. */
const RETRY_AFTER_SECONDS = 2

/** A lease that waits for a connection. */
interface Waiter {
  deadline: number
  resolve(connection: Connection): void
  fail(error: Error): void
}

/** A pool of at most `size` connections, with a queue of lanes, which survives any failure of the database. */
export class ConnectionPool {
  /** Those that are open. */
  readonly connections = new Set<Connection>()
  #state: PoolState = { is: 'up' }
  readonly #attempts: Attempts
  readonly #queue = new FairQueue<Waiter>()
  /** By the clock: connections that were dialled before are not used again. */
  #replacedAt = Number.NEGATIVE_INFINITY
  /** By the clock: idle connections that were last heard before are tested. What cut one may have cut others. */
  #cutAt = Number.NEGATIVE_INFINITY

  constructor(
    readonly open: Open,
    readonly bounds: PoolBounds,
    private readonly log: StateLog,
    readonly clock: Clock = SYSTEM_CLOCK,
  ) {
    this.#attempts = new Attempts(open, clock)
  }

  get state(): PoolState {
    return this.#state
  }

  /** Why the database cannot be reached, for people; undefined if it can. */
  get unreachable(): string | undefined {
    return this.#state.is === 'down' ? this.#state.reason : undefined
  }

  /** When an open connection last heard the server, by the clock. */
  get heardAt(): number {
    return Math.max(...[...this.connections].map(({ heardAt }) => heardAt))
  }

  /** The one place that changes the state, with all that follows from it. */
  #become(state: PoolState): void {
    const before = this.#state
    if (before.is === 'closed') return
    this.#state = state
    if (state.is !== before.is) {
      this.#attempts.endAll()
      logChange(this.log, before, state, this.clock.now())
    }
    const refusal = this.#refusal()
    if (refusal) for (const waiter of this.#queue.all()) waiter.fail(refusal)
    if (state.is !== 'down') return
    for (const connection of this.connections) connection.destroy()
    this.#pause()
  }

  /** The error of all leases in a state that has none. */
  #refusal(): Error | undefined {
    if (this.#state.is === 'up') return undefined
    if (this.#state.is === 'closed') return new DatabaseUnavailable('the service is stopping')
    return new DatabaseUnavailable(this.#state.reason, RETRY_AFTER_SECONDS)
  }

  /** The database does not answer: all that runs or waits fails now. @param reason for people, without any secret */
  lose(reason: string): void {
    const now = this.clock.now()
    const since = this.#state.is === 'down' ? this.#state.since : now
    this.#become({ is: 'down', reason, since, failedAt: now })
  }

  /** Cancels what runs, fails what waits, and ends all connections. */
  async close(): Promise<void> {
    this.#become({ is: 'closed' })
    const end = (each: Connection) => (each.state.is === 'idle' ? each.close() : each.giveUp(closedError()))
    await Promise.all(Array.from(this.connections, end))
  }

  stats(): { inUse: number; idle: number; waiting: number } {
    let [inUse, idle] = [0, 0]
    for (const connection of this.connections)
      if (connection.state.is === 'idle') idle++
      else if (!connection.isEnding) inUse++
    return { inUse, idle, waiting: this.#queue.size }
  }

  /** Whether the next acquire() has to wait for a release(). */
  isBusy(): boolean {
    return this.#isFull && this.#lastIdle() === undefined
  }

  /**
   * Takes a connection, to be released, for a lease that ends after `statementMs`, and early enough for the deadline.
   * @param deadline when the request has to be over, by the clock
   * @throws DatabaseUnavailable, QueueTimeout, Displaced, ClientGone
   */
  async acquire(lane: string, deadline: number, signal?: AbortSignal): Promise<Connection> {
    for (let connection = this.#lastIdle(); connection; connection = this.#lastIdle()) {
      if (!this.#keep(connection)) continue
      const { heardAt } = connection
      if (this.clock.now() - heardAt < MAX_IDLE_MS && heardAt > this.#cutAt) {
        connection.take(this.#endOf(deadline))
        return connection
      }
      if (await connection.test()) continue
      // Those that were heard later are well, as far as is known.
      for (const other of this.connections)
        if (other.state.is === 'idle' && other.heardAt <= heardAt) other.destroy()
    }
    const refusal = signal?.aborted ? new ClientGone() : this.#refusal()
    if (refusal) throw refusal
    return await this.#enqueue(lane, deadline, signal)
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
    if (isCertain || now - this.#replacedAt > REPLACE_INTERVAL_MS) this.#replacedAt = now
  }

  /** The idle connection that was used last. */
  #lastIdle(): Connection | undefined {
    let found: Connection | undefined
    let latest = Number.NEGATIVE_INFINITY
    for (const connection of this.connections) {
      const { state } = connection
      if (state.is !== 'idle' || state.since < latest) continue
      found = connection
      latest = state.since
    }
    return found
  }

  /** Ends a connection that is not to be used again. @returns whether it stays */
  #keep(connection: Connection): boolean {
    const isOver = this.clock.now() >= connection.expiresAt || connection.dialledAt <= this.#replacedAt
    if (isOver && this.connections.delete(connection)) void connection.close()
    return !isOver
  }

  /** When the time of a lease that begins now is over. */
  #endOf(deadline: number): number {
    return Math.min(this.clock.now() + this.bounds.statementMs, deadline - GRACE_MS)
  }

  async #enqueue(lane: string, deadline: number, signal?: AbortSignal): Promise<Connection> {
    const { promise, resolve, reject } = Promise.withResolvers<Connection>()
    const fail = (error: Error) => {
      this.#queue.delete(lane, waiter)
      reject(error)
    }
    const waiter: Waiter = { deadline, resolve, fail }
    this.#queue.add(lane, waiter)
    const waitMs = Math.min(this.bounds.waitMs, deadline - GRACE_MS - this.clock.now())
    const tooLate = () => fail(new QueueTimeout('all connections to the database are in use'))
    const cancelTimeout = this.clock.after(waitMs, tooLate)
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

  /** Gives an idle connection to the next one that waits. */
  #hand(connection: Connection): void {
    if (!this.#keep(connection)) return
    const next = this.#queue.next()
    if (!next) return
    connection.take(this.#endOf(next.deadline))
    next.resolve(connection)
  }

  get #isFull(): boolean {
    return this.connections.size + this.#attempts.size >= this.bounds.size
  }

  /** Opens connections for those that wait. */
  #grow(): void {
    if (this.#state.is !== 'up' || this.#attempts.isPausing) return
    while (this.#queue.size > this.#attempts.size && !this.#isFull) void this.#add()
  }

  async #add(isSecond = false): Promise<void> {
    let connection: Connection | undefined
    try {
      connection = await this.#attempts.connect(this.bounds.waitMs)
    } catch (error) {
      return this.#failed(error, isSecond)
    }
    if (!connection) return
    // The pool was closed between the answer of the server and now.
    if (this.#state.is === 'closed') return void connection.close()
    const opened = connection
    this.connections.add(opened)
    opened.onIdle = () => this.#hand(opened)
    opened.onEnd = () => this.#ended(opened)
    this.#become({ is: 'up' })
    this.#hand(opened)
    this.#grow()
  }

  /** No connection could be opened. If no other is open, the database is down; the monitor watches those that are. */
  #failed(error: unknown, isSecond: boolean): void {
    const hasOthers = [...this.connections].some(connection => !connection.isEnding)
    // What has cut all connections may be over, and a balancer may lead to another server.
    const mayBeOver = this.#state.is === 'up' && !isSecond && !isTimeout(error)
    if (!hasOthers && mayBeOver) void this.#add(true)
    else if (!hasOthers) this.lose(reasonOf(error))
    else if (this.#pause() === 2) {
      const message = 'the database takes no further connection; requests share those that are open'
      this.log.warn({ reason: reasonOf(error) }, message)
    }
  }

  /** After a pause, opens connections for those that wait. While the database is down, probes it. */
  #pause(): number {
    return this.#attempts.pause(() => (this.#state.is === 'down' ? this.#probe() : this.#grow()))
  }

  /**
   * Tries to connect. Attempts to reach a server that does not answer last for DATABASE_WAIT, and a server that has just
   * come back may not see an early one. So a probe does not wait for the one before. The first one stays: a server that
   * answers slowly would otherwise never be reached.
   */
  #probe(): void {
    if (this.#attempts.size === MAX_PROBES) this.#attempts.endNewest()
    if (!this.#isFull) void this.#add()
    this.#pause()
  }

  #ended(connection: Connection): void {
    const { state } = connection
    const isCut = state.is === 'closed' && isClosed(state.why)
    if (this.connections.delete(connection) && isCut) this.#cutAt = this.clock.now()
    this.#grow()
  }
}
