import { READ_GRACE_MS, SYSTEM_CLOCK } from '../connection/clock.ts'
import type { Connection, Open } from '../connection/connection.ts'
import { closedError, isTimeout, reasonOf } from '../failures.ts'
import { staleConnections } from './stale-backends.ts'

/** The pool as its monitor sees it. */
export interface Monitored {
  /** Connections that run a statement. */
  readonly busy: ReadonlySet<Connection>
  /** When the database last gave a sign of life, by the clock. */
  heardAt: number
  readonly isDown: boolean
  /** The database does not answer. */
  lose(reason: string): void
}

interface MonitorLimits {
  waitMs: number
  statementMs: number
}

/**
 * The time for the server's own statement_timeout to be reported. An answer gets as much if it arrived while this process
 * was stopped (SIGSTOP, a frozen container).
 */
const GRACE_MS = 1000

const ROUND_MS = 250

/** How long the connection of the last probe is kept. */
const KEEP_MS = 30_000

/** Checks the running statements in rounds: ends those that take too long, and probes the server if some are silent. */
export class StatementMonitor {
  #isProbing = false
  #isStopped = false
  /** By the clock: the last round, the first round after this process was stopped, and the last probe. */
  #roundAt: number
  #resumedAt = 0
  #probedAt = 0
  /** A connection beyond those of the pool, kept while statements are silent: otherwise each probe would open one. */
  #prober: Connection | undefined
  /** After this silence of a statement the server is probed. */
  readonly #silenceMs: number
  readonly #stopRounds: () => void

  constructor(
    private readonly open: Open,
    private readonly limits: MonitorLimits,
    private readonly pool: Monitored,
    private readonly clock = SYSTEM_CLOCK,
  ) {
    this.#roundAt = clock.now()
    this.#silenceMs = limits.waitMs / 5
    // One timer for all statements: two per statement would cost as much as the rest of the pool.
    this.#stopRounds = clock.every(Math.min(this.#silenceMs, ROUND_MS), () => this.#round())
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stopRounds()
    // A connection that waits for an answer cannot say goodbye.
    if (this.#isProbing) this.#prober?.destroy()
    await this.#prober?.close()
  }

  #round(): void {
    const now = this.clock.now()
    if (now - this.#roundAt > GRACE_MS) this.#resumedAt = now
    this.#roundAt = now
    const silent: Connection[] = []
    for (const connection of this.pool.busy) {
      const end = (connection.runningSince ?? now) + this.limits.statementMs
      const lateMs = now - Math.max(end, this.#resumedAt)
      if (lateMs > GRACE_MS) void connection.giveUp()
      // The server has not ended it: a pooler does not pass statement_timeout on.
      else if (lateMs > GRACE_MS / 2) void connection.cancel()
      else if (connection.silentMs(now) > this.#silenceMs) silent.push(connection)
    }
    if (silent.length > 0 && now - this.#probedAt > this.#silenceMs) void this.#probe(silent, now)
    else if (this.#prober && !this.#isProbing && now - this.#prober.usedAt > KEEP_MS)
      void this.#prober.close()
  }

  /** Finds out whether the server answers, or at least refuses, and whether it works on the silent statements. */
  async #probe(silent: Connection[], since: number): Promise<void> {
    if (this.#isProbing || this.pool.isDown) return
    this.#isProbing = true
    this.#probedAt = since
    try {
      const timeoutMs = this.limits.waitMs - this.#silenceMs
      const prober = await this.#openProber(since + timeoutMs)
      const stale = await staleConnections(prober, silent, this.#silenceMs, timeoutMs)
      this.pool.heardAt = this.clock.now()
      // Their answers may have arrived with the prober's, and wait to be read.
      await new Promise<void>(resolve => this.clock.after(READ_GRACE_MS, resolve))
      const now = this.clock.now()
      for (const connection of stale) if (connection.silentMs(now) > now - since) connection.destroy()
    } catch (error) {
      if (isTimeout(error) && this.pool.heardAt < since) this.pool.lose(reasonOf(error))
    } finally {
      this.#isProbing = false
    }
  }

  async #openProber(deadline: number): Promise<Connection> {
    const kept = this.#prober
    if (kept && this.clock.now() < kept.expiresAt && (await kept.isUsable(this.#silenceMs))) return kept
    void kept?.close()
    if (this.#isStopped) throw closedError()
    const prober = await this.open(deadline - this.clock.now())
    this.#prober = prober
    prober.onEnd = () => {
      if (this.#prober === prober) this.#prober = undefined
    }
    if (this.#isStopped) void prober.close()
    return prober
  }
}
