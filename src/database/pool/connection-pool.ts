import { type Clock, SYSTEM_CLOCK } from '../connection/clock.ts'
import type { Connection, Open } from '../connection/connection.ts'
import { ClientGone, closedError, DatabaseUnavailable, isClosed, isTimeout, reasonOf } from '../failures.ts'
import { Attempts } from './attempts.ts'
import { GRACE_MS, type PoolBounds } from './bounds.ts'
import { mostOf, SHARED_LANE } from './fair-queue.ts'
import { logChange, type PoolState, type StateLog } from './pool-state.ts'
import { Waiters } from './waiters.ts'

/** A connection that was idle for longer is tested before use: a firewall may have dropped it. */
const MAX_IDLE_MS = 30_000

/** When writes are refused, all connections are replaced this often at most. */
const REPLACE_INTERVAL_MS = 30_000

/** Attempts to connect at a time while the database is down. */
const MAX_PROBES = 2

/** For clients, while the database is down. */
const RETRY_AFTER_SECONDS = 2

/** A pool of at most `size` connections, with a queue of lanes, which survives any failure of the database. */
export class ConnectionPool {
  /** Those that are open. */
  readonly connections = new Set<Connection>()
  #state: PoolState = { is: 'up' }
  readonly #attempts: Attempts
  readonly #waiters: Waiters
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
    this.#waiters = new Waiters(bounds, clock)
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
    if (refusal) this.#waiters.failAll(refusal)
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
    return { inUse, idle, waiting: this.#waiters.size }
  }

  /** Whether the next acquire() has to wait for a release(). */
  isBusy(): boolean {
    return this.#isFull && this.#lastIdle() === undefined
  }

  /**
   * Takes a connection, to be released, for a lease that ends after `statementMs`, and early enough for the deadline. A lane
   * that holds as many as it may waits, even beside idle ones: one integration does not take all.
   * @param deadline when the request has to be over, by the clock
   * @throws DatabaseUnavailable, QueueTimeout, Displaced, ClientGone
   */
  async acquire(lane: string, deadline: number, signal?: AbortSignal): Promise<Connection> {
    const idle = this.#lastIdle()
    if (idle && this.#isFresh(idle) && this.#roomOf(lane) > 0) {
      idle.take(this.#endOf(deadline), lane)
      return idle
    }
    const refusal = signal?.aborted ? new ClientGone() : this.#refusal()
    if (refusal) throw refusal
    return await this.#waiters.wait(lane, deadline, signal, () => this.#serve())
  }

  /** As Waiters.displace(). */
  displace(lane = SHARED_LANE): boolean {
    return this.#waiters.displace(lane)
  }

  /** Uses no open connection again; unless it `isCertain` that new ones lead to another server, now and then only. */
  replaceAll(isCertain: boolean): void {
    const now = this.clock.now()
    if (isCertain || now - this.#replacedAt > REPLACE_INTERVAL_MS) this.#replacedAt = now
  }

  /** How many more connections a lane may hold. */
  #roomOf(lane: string): number {
    let room = mostOf(lane, this.bounds.size)
    for (const { taken } of this.connections) if (taken?.lane === lane) room--
    return room
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

  /** Whether an idle connection may be used again. */
  #isCurrent(connection: Connection): boolean {
    return this.clock.now() < connection.expiresAt && connection.dialledAt > this.#replacedAt
  }

  /** Whether it may be used without a test. */
  #isFresh(connection: Connection): boolean {
    const { heardAt } = connection
    return this.#isCurrent(connection) && this.clock.now() - heardAt < MAX_IDLE_MS && heardAt > this.#cutAt
  }

  /** When the time of a lease that begins now is over. */
  #endOf(deadline: number): number {
    return Math.min(this.clock.now() + this.bounds.statementMs, deadline - GRACE_MS)
  }

  /** Gives idle connections to those that wait and may have one, after a test where it is needed, and opens further ones. */
  #serve(): void {
    for (let idle = this.#lastIdle(); idle; idle = this.#lastIdle()) {
      if (!this.#isCurrent(idle)) this.#end([idle])
      else if (this.#isFresh(idle) && this.#hand(idle)) continue
      else if (this.#wanted() > this.#testing()) void this.#test(idle)
      else break
    }
    this.#grow()
  }

  /** Gives an idle connection to the next one that may have one; false if there is none. */
  #hand(connection: Connection): boolean {
    const next = this.#waiters.next(lane => this.#roomOf(lane) > 0)
    if (!next) return false
    connection.take(this.#endOf(next.deadline), next.lane)
    next.resolve(connection)
    return true
  }

  async #test(connection: Connection): Promise<void> {
    const { heardAt } = connection
    const isUsable = await connection.test()
    const idle = [...this.connections].filter(({ state }) => state.is === 'idle')
    // Those that were heard later are well, as far as is known.
    if (!isUsable) this.#end(idle.filter(other => other.heardAt <= heardAt))
    this.#serve()
  }

  /** Ends idle connections, which says nothing about others. */
  #end(connections: Connection[]): void {
    for (const connection of connections) this.connections.delete(connection)
    for (const connection of connections) connection.destroy()
  }

  /** How many are tested for those that wait. */
  #testing(): number {
    let testing = 0
    for (const { state } of this.connections)
      if (state.is === 'testing' && state.next.is === 'idle') testing++
    return testing
  }

  get #isFull(): boolean {
    return this.connections.size + this.#attempts.size >= this.bounds.size
  }

  /** Opens connections for those that wait. */
  #grow(): void {
    if (this.#state.is !== 'up' || this.#attempts.isPausing) return
    while (this.#wanted() > this.#attempts.size + this.#testing() && !this.#isFull) void this.#add()
  }

  /** How many of those that wait may have a connection. */
  #wanted(): number {
    let wanted = 0
    for (const [lane, waiting] of this.#waiters.lanes()) wanted += Math.min(waiting, this.#roomOf(lane))
    return wanted
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
    opened.onRelease = () => this.#serve()
    opened.onEnd = () => this.#ended(opened)
    this.#become({ is: 'up' })
    this.#serve()
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
   * Tries to connect. Attempts to reach a server that does not answer last for waitMs, and a server that has just
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
    // Its lane may hold another one now.
    this.#serve()
  }
}
