import { MACHINE } from '../connection/clock.ts'
import type { Connection, Open } from '../connection/connection.ts'
import { closed } from '../connection/timeouts.ts'
import { ClientGone, Crowded, DatabaseUnavailable, Displaced, isSilence, reasonOf } from '../failures.ts'
import type { Availability } from './availability.ts'
import type { PoolBounds } from './bounds.ts'
import { Lanes } from './lanes.ts'
import { CANCEL_PATIENCE, Lookout, type Watched } from './lookout.ts'

/** Milliseconds of idleness after which a connection is asked whether it is still there: a firewall may have dropped it. */
const TRUST = 30_000
export const PING_PATIENCE = 1000

/** Milliseconds between two times that all connections are replaced because the database refuses writes. */
const RENEWAL = 30_000

/** Milliseconds for the statements that are cancelled at the end. */
const FAREWELL = 1000

/** Seconds after which a client may ask again when the database is gone. */
const RETRY_AFTER = 2

interface Waiter {
  take(connection: Connection): void
  leave(error: Error): void
}

/** Which connection is whose: at most `size` of them, a line in front, and what is done when they fail. */
export class ConnectionPool implements Watched {
  /** The one that was used last is taken first. */
  readonly #idle: Connection[] = []
  readonly #busy = new Set<Connection>()
  /** Given up, and open until their statements are cancelled. */
  readonly #leaving = new Set<Connection>()
  readonly #waiting = new Lanes<Waiter>()
  #opening = 0
  #isClosed = false
  /** By the clock, the last sign of life and the last renewal. */
  #heardAt = 0
  #renewedAt = Number.NEGATIVE_INFINITY
  readonly #lookout: Lookout
  /** Ends the pause until the next attempt to open one more, or to find a database that is gone. */
  #endPause: (() => void) | undefined

  constructor(
    private readonly open: Open,
    private readonly bounds: PoolBounds,
    private readonly availability: Availability,
    private readonly clock = MACHINE,
  ) {
    this.#lookout = new Lookout(open, bounds, this, clock)
  }

  stats() {
    return { inUse: this.#busy.size, idle: this.#idle.length, waiting: this.#waiting.size }
  }

  /** Whether the next one has to wait for a connection of somebody else. */
  isBusy(): boolean {
    return this.#idle.length === 0 && this.#isFull()
  }

  /**
   * A connection for one statement; it must be given back. Where there is a line for them, those who ask stand in
   * lanes, which take turns.
   * @throws DatabaseUnavailable at once when the database is known to be gone, or when none gets free in time
   * @throws ClientGone
   */
  async acquire(lane: string, signal: AbortSignal | undefined): Promise<Connection> {
    for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop()) {
      this.#busy.add(connection)
      if (!this.#isFit(connection)) this.#drop(connection)
      else if (this.clock.now() - connection.usedAt < TRUST) return connection
      else if (await connection.answers(PING_PATIENCE)) return connection
      // Those left were idle for longer.
      else for (const other of this.#idle.slice()) this.#drop(other)
    }
    // While a connection was asked whether it is still there.
    if (signal?.aborted) throw new ClientGone()
    if (this.#isClosed) throw new DatabaseUnavailable('the service is stopping')
    if (this.availability.reason !== undefined)
      throw new DatabaseUnavailable(this.availability.reason, RETRY_AFTER)
    return await this.#wait(lane, signal)
  }

  /** For the next statement, unless it has ended meanwhile. */
  release(connection: Connection): void {
    // A request to cancel that is still on its way would hit the next statement.
    if (connection.cancelled) void connection.cancelled.then(() => this.#takeBack(connection))
    else this.#takeBack(connection)
  }

  #takeBack(connection: Connection): void {
    if (!this.#busy.delete(connection)) return
    this.heard()
    if (this.#isFit(connection)) this.#hand(connection)
    else this.#drop(connection)
  }

  /** Sends away who came last in the longest lane, for one more in this one; false where that is as long. */
  displace(lane: string): boolean {
    const last = this.#waiting.lastBut(lane)
    last?.leave(new Displaced('others have their turn'))
    return last !== undefined
  }

  /**
   * What is open now is used for no further statement.
   * @param isSure of it that another connection leads elsewhere: otherwise it is tried now and then only
   */
  renew(isSure: boolean): void {
    const now = this.clock.now()
    if (isSure || now - this.#renewedAt > RENEWAL) this.#renewedAt = now
  }

  get busy(): ReadonlySet<Connection> {
    return this.#busy
  }

  get heardAt(): number {
    return this.#heardAt
  }

  get isLost(): boolean {
    return this.availability.reason !== undefined
  }

  heard(): void {
    this.#heardAt = this.clock.now()
  }

  async giveUp(connection: Connection, patience = CANCEL_PATIENCE, error?: Error): Promise<void> {
    this.#busy.delete(connection)
    this.#leaving.add(connection)
    await connection.giveUp(patience, error)
  }

  forget(connection: Connection): void {
    this.#drop(connection)
    this.#doubtIdle()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#endPause?.()
    for (const waiter of this.#waiting.all()) waiter.leave(new DatabaseUnavailable('the service is stopping'))
    await Promise.all([
      this.#lookout.stop(),
      ...this.#idle.splice(0).map(connection => connection.close()),
      ...Array.from(this.#leaving, connection => connection.cancelled),
      ...Array.from(this.#busy, connection => this.giveUp(connection, FAREWELL, closed())),
    ])
  }

  #isFit(connection: Connection): boolean {
    return connection.openedAt > this.#renewedAt && this.clock.now() < connection.bestBefore
  }

  async #wait(lane: string, signal: AbortSignal | undefined): Promise<Connection> {
    const { promise, resolve, reject } = Promise.withResolvers<Connection>()
    const waiter: Waiter = {
      take: resolve,
      leave: error => {
        this.#waiting.delete(lane, waiter)
        reject(error)
      },
    }
    this.#waiting.add(lane, waiter)
    const tooLate = () => waiter.leave(new Crowded('all connections to the database are in use'))
    const settle = this.clock.after(this.bounds.wait, tooLate)
    const hangUp = () => waiter.leave(new ClientGone())
    signal?.addEventListener('abort', hangUp, { once: true })
    this.#grow()
    try {
      return await promise
    } finally {
      settle()
      signal?.removeEventListener('abort', hangUp)
    }
  }

  /** To whose turn it is. */
  #hand(connection: Connection): void {
    const next = this.#waiting.next()
    if (next) this.#busy.add(connection)
    else this.#idle.push(connection)
    next?.take(connection)
  }

  get #open(): number {
    return this.#idle.length + this.#busy.size + this.#leaving.size
  }

  #isFull(): boolean {
    return this.#open + this.#opening >= this.bounds.size
  }

  #grow(): void {
    if (this.#isClosed || this.#endPause) return
    while (this.#waiting.size > this.#opening && !this.#isFull()) void this.#add()
  }

  /** Opens one more. The database is gone when that fails and no other connection is left. */
  async #add(attempt = 1): Promise<void> {
    const since = this.clock.now()
    this.#opening++
    const opening = this.open(this.bounds.wait, connection => this.#ended(connection))
    try {
      const connection = await opening.finally(() => this.#opening--)
      // It may have ended before anybody here knew of it.
      if (connection.isOver) throw closed()
      this.#welcome(connection)
    } catch (error) {
      const isAlive = this.#idle.length + this.#busy.size > 0
      // It may have been cut together with all the others, by what has passed.
      const isSudden =
        attempt === 1 && !this.#isClosed && this.availability.reason === undefined && !isSilence(error)
      if (!isAlive && isSudden) await this.#add(2)
      else if (isAlive && (!isSilence(error) || this.#heardAt > since)) this.#growLater(error)
      else this.lose(reasonOf(error))
    }
  }

  #welcome(connection: Connection): void {
    this.heard()
    if (this.#isClosed || this.#open >= this.bounds.size) {
      void connection.close()
      return
    }
    this.availability.found()
    this.#hand(connection)
    this.#endPause?.()
    this.#endPause = undefined
    this.#grow()
  }

  /** Those that are there go on; who waits gets one of them. */
  #growLater(error: unknown): void {
    this.availability.refusedConnection(reasonOf(error))
    this.#endPause ??= this.clock.after(this.availability.pause(), () => {
      this.#endPause = undefined
      this.#grow()
    })
  }

  lose(reason: string): void {
    if (this.#isClosed) return
    const isNews = this.availability.lost(reason)
    for (const waiter of this.#waiting.all()) waiter.leave(new DatabaseUnavailable(reason, RETRY_AFTER))
    for (const connection of [...this.#idle, ...this.#busy, ...this.#leaving]) this.#drop(connection)
    if (!isNews) return
    this.#endPause?.()
    this.#probeLater()
  }

  /**
   * The next one does not wait for an answer to this one: where none comes, that would take too long. All that wait for
   * one are no more than the pool may have connections.
   */
  #probeLater(): void {
    this.#endPause = this.clock.after(this.availability.pause(), () => {
      if (!this.#isFull()) void this.#add()
      this.#probeLater()
    })
  }

  /** Not by us. */
  #ended(connection: Connection): void {
    const wasGivenUp = this.#leaving.delete(connection)
    if (!this.#remove(connection) && !wasGivenUp) return
    if (!wasGivenUp) this.#doubtIdle()
    this.#grow()
  }

  /** What cut one may have cut the idle ones too, and that is still to be heard. */
  #doubtIdle(): void {
    for (const other of this.#idle) other.usedAt = Number.NEGATIVE_INFINITY
  }

  #drop(connection: Connection): void {
    this.#remove(connection)
    connection.destroy()
    this.#grow()
  }

  #remove(connection: Connection): boolean {
    const index = this.#idle.indexOf(connection)
    if (index >= 0) this.#idle.splice(index, 1)
    return this.#busy.delete(connection) || index >= 0
  }
}
