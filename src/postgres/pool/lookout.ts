import { MACHINE } from '../connection/clock.ts'
import type { Connection, Open } from '../connection/connection.ts'
import { closed, READING } from '../connection/timeouts.ts'
import { isSilence, reasonOf } from '../failures.ts'
import type { PoolBounds } from './bounds.ts'
import { staleConnections } from './stale-backends.ts'

/** What the lookout sees of the connections, and does to them. */
export interface Watched {
  /** Those that a statement has. */
  readonly busy: ReadonlySet<Connection>
  /** By the clock, the last sign of life. */
  readonly heardAt: number
  readonly isLost: boolean
  /** The database has answered just now. */
  heard(): void
  /** A statement has run for longer than it may. */
  giveUp(connection: Connection): Promise<void>
  /** A network has forgotten this connection. */
  forget(connection: Connection): void
  lose(reason: string): void
}

/**
 * Milliseconds after its end in which the server has to have said that a statement ran out of time. So many has an
 * answer, too, that is still to be read because this process was stopped (SIGSTOP, a frozen container).
 */
const GRACE = 1000

/** Milliseconds between two looks at the statements that run. */
const LONGEST_ROUND = 250

/** Milliseconds for which the connection of the last look into a silence is kept for the next one. */
const KEPT = 30_000

/** Milliseconds in which the server has to have passed on that a statement is to be ended. */
export const CANCEL_PATIENCE = 2000

/** Looks round by round at the statements that run: ends what takes too long, and looks into long silences. */
export class Lookout {
  #isLooking = false
  #isStopped = false
  /** By the clock: the last round, and the first one after a time in which this process was stopped. */
  #roundAt: number
  #resumedAt = 0
  /** By the clock, the last look into a silence. */
  #lookedAt = 0
  /** One connection more than the pool has, while there are silences: to open one for each look would be one a second. */
  #witness: Connection | undefined
  readonly #endRounds: () => void

  constructor(
    private readonly open: Open,
    private readonly bounds: PoolBounds,
    private readonly watched: Watched,
    private readonly clock = MACHINE,
  ) {
    this.#roundAt = clock.now()
    // One for all statements: two timers for each would cost as much as the rest of the pool.
    this.#endRounds = clock.every(Math.min(this.#doubt, LONGEST_ROUND), () => this.#lookAround())
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#endRounds()
    // It cannot say goodbye while it is asked something.
    if (this.#isLooking) this.#witness?.destroy()
    await this.#witness?.close()
  }

  /** Milliseconds of silence after which it is looked into. */
  get #doubt(): number {
    return this.bounds.wait / 5
  }

  #lookAround(): void {
    const now = this.clock.now()
    if (now - this.#roundAt > GRACE) this.#resumedAt = now
    this.#roundAt = now
    const silent: Connection[] = []
    for (const connection of this.watched.busy) {
      const end = (connection.runningSince ?? now) + this.bounds.statement
      const late = now - Math.max(end, this.#resumedAt)
      if (late > GRACE) void this.watched.giveUp(connection)
      // The server should have ended it, and does not: a pooler kept statement_timeout from it.
      else if (late > GRACE / 2) void connection.cancel(CANCEL_PATIENCE)
      else if (connection.silence(now) > this.#doubt) silent.push(connection)
    }
    if (silent.length > 0 && now - this.#lookedAt > this.#doubt) void this.#look(silent, now)
    else if (this.#witness && !this.#isLooking && now - this.#witness.usedAt > KEPT)
      void this.#witness.close()
  }

  /** Whether the database answers anybody, or says at least why not, and has anything to do for the silent ones. */
  async #look(silent: Connection[], since: number): Promise<void> {
    if (this.#isLooking || this.watched.isLost) return
    this.#isLooking = true
    this.#lookedAt = since
    try {
      const patience = this.bounds.wait - this.#doubt
      const witness = (await this.#kept()) ?? (await this.#fresh(since + patience - this.clock.now()))
      const forgotten = await staleConnections(witness, silent, this.#doubt, patience)
      this.watched.heard()
      // Their answers may lie in the kernel beside that of the witness.
      await new Promise<void>(resolve => this.clock.after(READING, resolve))
      const now = this.clock.now()
      // Whoever waits for these has waited since then: the requests go on by other connections.
      for (const connection of forgotten)
        if (connection.silence(now) > now - since) this.watched.forget(connection)
    } catch (error) {
      if (isSilence(error) && this.watched.heardAt < since) this.watched.lose(reasonOf(error))
    } finally {
      this.#isLooking = false
    }
  }

  async #kept(): Promise<Connection | undefined> {
    const kept = this.#witness
    const isGood = kept && this.clock.now() < kept.bestBefore && (await kept.answers(this.#doubt))
    if (!isGood) void kept?.close()
    return isGood ? kept : undefined
  }

  async #fresh(patience: number): Promise<Connection> {
    if (this.#isStopped) throw closed()
    this.#witness = await this.open(patience, connection => {
      if (this.#witness === connection) this.#witness = undefined
    })
    if (this.#isStopped) void this.#witness.close()
    return this.#witness
  }
}
