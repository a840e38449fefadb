import { shared } from '../../within.ts'
import { READ_GRACE_MS } from '../connection/clock.ts'
import type { Connection } from '../connection/connection.ts'
import { closedError, isTimeout, reasonOf } from '../failures.ts'
import { GRACE_MS } from './bounds.ts'
import type { ConnectionPool } from './connection-pool.ts'

const ROUND_MS = 250

/** How long the connection of the last probe is kept. */
const KEEP_MS = 30_000

/** Checks leases in rounds: ends those that take too long, and probes the server if their statements are silent. */
export class StatementMonitor {
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

  constructor(private readonly pool: ConnectionPool) {
    this.#roundAt = pool.clock.now()
    this.#silenceMs = pool.bounds.waitMs / 5
    // One timer for all leases: two per lease would cost as much as the rest of the pool.
    this.#stopRounds = pool.clock.every(Math.min(this.#silenceMs, ROUND_MS), () => this.#round())
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stopRounds()
    await this.#prober?.close()
  }

  #round(): void {
    const { connections, clock } = this.pool
    const now = clock.now()
    // Answers that came while this process was stopped have not been read yet.
    if (now - this.#roundAt > GRACE_MS) this.#resumedAt = now
    this.#roundAt = now
    let isSilent = false
    for (const connection of connections) {
      const lateMs = now - Math.max(connection.taken?.until ?? now, this.#resumedAt)
      if (lateMs > GRACE_MS) void connection.giveUp()
      // The server knows only the time of one statement, and behind a pooler not even that.
      else if (lateMs > GRACE_MS / 2 && connection.isBusy) connection.cancel()
      else if (connection.silentMs(now) > this.#silenceMs) isSilent = true
    }
    if (isSilent && now - this.#probedAt > this.#silenceMs) void this.#probe()
    const idle = this.#prober?.state
    if (idle?.is === 'idle' && now - idle.since > KEEP_MS) this.#dropProber()
  }

  #dropProber(): void {
    void this.#prober?.close()
    this.#prober = undefined
  }

  /** Finds out whether the server answers, or at least refuses, and whether it works on the silent statements. */
  readonly #probe = shared(async () => {
    const { connections, clock, state } = this.pool
    if (state.is !== 'up') return
    const since = clock.now()
    this.#probedAt = since
    const silent = [...connections].filter(connection => connection.silentMs(since) > this.#silenceMs)
    try {
      const stale = await this.#staleOf(silent, since + this.pool.bounds.waitMs - this.#silenceMs)
      // Their answers may have arrived with the prober's, and wait to be read.
      await new Promise<void>(resolve => clock.after(READ_GRACE_MS, resolve))
      const now = clock.now()
      for (const connection of stale) if (connection.silentMs(now) > now - since) connection.destroy()
    } catch (error) {
      if (isTimeout(error) && this.pool.heardAt < since) this.pool.lose(reasonOf(error))
    }
  })

  /** As staleConnections(), by the kept connection or a new one. @throws if the server does not answer in time */
  async #staleOf(silent: Connection[], deadline: number): Promise<Connection[]> {
    const { clock, open } = this.pool
    const kept = this.#prober
    if (kept?.state.is === 'idle' && clock.now() < kept.expiresAt) {
      // The network may have dropped it with the others: a new one has to have time.
      const found = staleConnections(kept, silent, this.#silenceMs, this.#silenceMs / 2)
      const stale = await found.catch(() => undefined)
      if (stale) return stale
    }
    this.#dropProber()
    if (this.#isStopped) throw closedError()
    const prober = await open(deadline - clock.now())
    this.#prober = prober
    // stop() has not seen it.
    if (this.#isStopped) this.#dropProber()
    return await staleConnections(prober, silent, this.#silenceMs, deadline - clock.now())
  }
}

/**
 * Of connections that wait for an answer, those that will never get one: a network has dropped them silently, and the
 * server process has finished, has never got the statement, or cannot send its answer.
 * @param prober an idle connection to the same server
 * @param idleMs for how long the server process must not have worked
 * @returns none if the server cannot be asked: behind a pooler, or behind an address of several servers
 * @throws the error of the prober, which then ends
 */
async function staleConnections(
  prober: Connection,
  silent: Connection[],
  idleMs: number,
  timeoutMs: number,
): Promise<Connection[]> {
  const rows = (await prober.query(ACTIVITY, timeoutMs)) as { pid: number; idle: string | null }[]
  const idleMsOf = new Map(rows.map(({ pid, idle }) => [pid, Number(idle ?? 0)]))
  const candidates = silent.filter(({ server }) => server !== undefined && server === prober.server)
  // A process that no longer exists does not work either.
  return candidates.filter(({ backend }) => (idleMsOf.get(backend.pid) ?? Number.POSITIVE_INFINITY) > idleMs)
}

/** All processes: an array of pids as a parameter would cost a round trip for its type. */
const ACTIVITY = `
  select pid, case when wait_event in ('ClientRead', 'ClientWrite')
    then extract(epoch from clock_timestamp() - state_change) * 1000 end as idle
  from pg_stat_activity`
