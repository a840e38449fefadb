import type { PoolBounds } from './bounds.ts'
import type { Connection, Open } from './connection.ts'
import { ClientGone, DatabaseUnavailable, isSilence, reasonOf } from './failures.ts'
import { forgottenOf } from './forgotten.ts'
import { Lanes } from './lanes.ts'
import { closed } from './patience.ts'
import type { Watch } from './watch.ts'

/** Milliseconds of idleness after which a connection is asked whether it is still there: a firewall may have dropped it. */
const TRUST = 30_000
export const PING_PATIENCE = 1000

/** Milliseconds after its end in which the server has to have said that a statement ran out of time. */
const GRACE = 1000

/** Milliseconds between two looks at the statements that run. */
const LONGEST_ROUND = 250

/** Milliseconds between two times that all connections are replaced because the database refuses writes. */
const RENEWAL = 30_000

/** Milliseconds in which the server has to have passed on that a statement is to be ended. */
export const CANCEL_PATIENCE = 2000

/** Milliseconds for the statements that are cancelled at the end. */
const FAREWELL = 1000

/** Seconds after which a client may ask again when the database is gone. */
const RETRY_AFTER = 2

interface Waiter {
  take(connection: Connection): void
  leave(error: Error): void
}

/** Which connection is whose: at most `size` of them, a line in front, and what is done when they fail. */
export class Places {
  /** The one that was used last is taken first. */
  readonly #idle: Connection[] = []
  readonly #busy = new Set<Connection>()
  /** Given up, and open until their statements are cancelled. */
  readonly #leaving = new Set<Connection>()
  readonly #waiting = new Lanes<Waiter>()
  #opening = 0
  #isClosed = false
  #isLooking = false
  /** performance.now() of the last sign of life, of the last look, and of the last renewal. */
  #heardAt = 0
  #lookedAt = 0
  #renewedAt = Number.NEGATIVE_INFINITY
  readonly #rounds: Timer
  /** Until the next attempt to open one more, or to find a database that is gone. */
  #pause: Timer | undefined

  constructor(
    private readonly open: Open,
    private readonly bounds: PoolBounds,
    private readonly watch: Watch,
  ) {
    // One for all statements: two timers for each would cost as much as the rest of the pool.
    this.#rounds = setInterval(() => this.#lookAround(), Math.min(this.#doubt, LONGEST_ROUND)).unref()
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
  async take(lane: string, signal: AbortSignal | undefined): Promise<Connection> {
    for (let connection = this.#idle.pop(); connection; connection = this.#idle.pop()) {
      this.#busy.add(connection)
      if (!this.#isFit(connection)) this.#drop(connection)
      else if (performance.now() - connection.usedAt < TRUST) return connection
      else if (await connection.answers(PING_PATIENCE)) return connection
      // Those left were idle for longer.
      else for (const other of this.#idle.slice()) this.#drop(other)
    }
    if (this.#isClosed) throw new DatabaseUnavailable('the service is stopping')
    if (this.watch.reason !== undefined) throw new DatabaseUnavailable(this.watch.reason, RETRY_AFTER)
    return await this.#wait(lane, signal)
  }

  /** For the next statement, unless it has ended meanwhile. */
  giveBack(connection: Connection): void {
    // A request to cancel that is still on its way would hit the next statement.
    if (connection.cancelled) void connection.cancelled.then(() => this.#takeBack(connection))
    else this.#takeBack(connection)
  }

  #takeBack(connection: Connection): void {
    if (!this.#busy.delete(connection)) return
    this.#heardAt = performance.now()
    if (this.#isFit(connection)) this.#hand(connection)
    else this.#drop(connection)
  }

  /** Sends away who came last in the longest lane, for one more in this one; false where that is as long. */
  displace(lane: string): boolean {
    const last = this.#waiting.lastBut(lane)
    last?.leave(new DatabaseUnavailable('others have their turn'))
    return last !== undefined
  }

  /**
   * What is open now is used for no further statement.
   * @param isSure of it that another connection leads elsewhere: otherwise it is tried now and then only
   */
  renew(isSure: boolean): void {
    const now = performance.now()
    if (isSure || now - this.#renewedAt > RENEWAL) this.#renewedAt = now
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#pause)
    clearInterval(this.#rounds)
    for (const waiter of this.#waiting.all()) waiter.leave(new DatabaseUnavailable('the service is stopping'))
    await Promise.all([
      ...this.#idle.splice(0).map(connection => connection.close()),
      ...Array.from(this.#leaving, connection => connection.cancelled),
      ...Array.from(this.#busy, connection => this.#giveUp(connection, FAREWELL, closed())),
    ])
  }

  async #giveUp(connection: Connection, patience = CANCEL_PATIENCE, error?: Error): Promise<void> {
    this.#busy.delete(connection)
    this.#leaving.add(connection)
    await connection.giveUp(patience, error)
  }

  #isFit(connection: Connection): boolean {
    return connection.openedAt > this.#renewedAt && performance.now() < connection.bestBefore
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
    const inUse = new DatabaseUnavailable('all connections to the database are in use')
    const timer = setTimeout(() => waiter.leave(inUse), this.bounds.wait)
    const hangUp = () => waiter.leave(new ClientGone())
    signal?.addEventListener('abort', hangUp, { once: true })
    this.#grow()
    try {
      return await promise
    } finally {
      clearTimeout(timer)
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
    if (this.#isClosed || this.#pause) return
    while (this.#waiting.size > this.#opening && !this.#isFull()) void this.#add()
  }

  /** Opens one more. The database is gone when that fails and no other connection is left. */
  async #add(attempt = 1): Promise<void> {
    const since = performance.now()
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
      const isSudden = attempt === 1 && this.watch.reason === undefined && !isSilence(error)
      if (!isAlive && isSudden) await this.#add(2)
      else if (isAlive && (!isSilence(error) || this.#heardAt > since)) this.#growLater(error)
      else this.#lose(reasonOf(error))
    }
  }

  #welcome(connection: Connection): void {
    this.#heardAt = performance.now()
    if (this.#isClosed || this.#open >= this.bounds.size) {
      void connection.close()
      return
    }
    this.watch.found()
    this.#hand(connection)
    clearTimeout(this.#pause)
    this.#pause = undefined
    this.#grow()
  }

  /** Those that are there go on; who waits gets one of them. */
  #growLater(error: unknown): void {
    this.watch.refusedConnection(reasonOf(error))
    this.#pause ??= setTimeout(() => {
      this.#pause = undefined
      this.#grow()
    }, this.watch.pause())
  }

  #lose(reason: string): void {
    if (this.#isClosed) return
    const isNews = this.watch.lost(reason)
    for (const waiter of this.#waiting.all()) waiter.leave(new DatabaseUnavailable(reason, RETRY_AFTER))
    for (const connection of [...this.#idle, ...this.#busy, ...this.#leaving]) this.#drop(connection)
    if (!isNews) return
    clearTimeout(this.#pause)
    this.#probeLater()
  }

  /** The next one does not wait for an answer to this one: where none comes, that would take too long. */
  #probeLater(): void {
    this.#pause = setTimeout(() => {
      void this.#add()
      this.#probeLater()
    }, this.watch.pause())
  }

  /** Milliseconds of silence after which it is looked into. */
  get #doubt(): number {
    return this.bounds.wait / 5
  }

  /** Ends what cannot be heard of any more, and looks into a long silence. */
  #lookAround(): void {
    const now = performance.now()
    const silent: Connection[] = []
    for (const connection of this.#busy) {
      const late = now - (connection.runningSince ?? now) - this.bounds.statement
      if (late > GRACE) void this.#giveUp(connection)
      // The server should have ended it, and does not: a pooler kept statement_timeout from it.
      else if (late > GRACE / 2) void connection.cancel(CANCEL_PATIENCE)
      else if (connection.silence(now) > this.#doubt) silent.push(connection)
    }
    if (silent.length > 0 && now - this.#lookedAt > this.#doubt) void this.#look(silent, now)
  }

  /** Whether the database lets in somebody else, or says at least why not, and has anything to do for the silent ones. */
  async #look(silent: Connection[], since: number): Promise<void> {
    if (this.#isLooking || this.watch.reason !== undefined) return
    this.#isLooking = true
    this.#lookedAt = since
    try {
      const patience = this.bounds.wait - this.#doubt
      const witness = await this.open(patience, connection => this.#ended(connection))
      this.#forget(await forgottenOf(witness, silent, this.#doubt, patience), since)
      this.#welcome(witness)
    } catch (error) {
      if (isSilence(error) && this.#heardAt < since) this.#lose(reasonOf(error))
    } finally {
      this.#isLooking = false
    }
  }

  /** Whoever waits for these has waited since then: the requests go on by other connections. */
  #forget(forgotten: Connection[], since: number): void {
    const now = performance.now()
    for (const connection of forgotten) {
      if (connection.silence(now) <= now - since) continue
      this.#drop(connection)
      this.#doubtIdle()
    }
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
