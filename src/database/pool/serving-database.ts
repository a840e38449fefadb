import type { ParameterOrJSON } from 'postgres'
import { type Clock, SYSTEM_CLOCK } from '../connection/clock.ts'
import type { Connection, Open } from '../connection/connection.ts'
import {
  ClientGone,
  DatabaseUnavailable,
  reasonOf,
  refusalOf,
  StatementTimeout,
  type Verdict,
} from '../failures.ts'
import type { Leases, Runner, RunOptions } from '../statement.ts'
import { Writes } from '../writes.ts'
import { mayRepeat, type PoolBounds, type Requester, requestMs } from './bounds.ts'
import { ConnectionPool } from './connection-pool.ts'
import { SERVICE_LANE, SHARED_LANE } from './fair-queue.ts'
import { ConnectionLease, verdictOf } from './lease.ts'
import type { StateLog } from './pool-state.ts'
import { StatementMonitor } from './statement-monitor.ts'

/** Characters of a statement in the log, so that a line is written to a pipe in one piece. */
const LOGGED_CHARACTERS = 1000

const UNIQUE_VIOLATION = '23505'

/** Why no statement can run, and after how many seconds one may. */
const REASONS: Partial<Record<Verdict, [string, number?]>> = {
  cut: ['the connection to the database was lost'],
  'read-only': ['the database is read-only', 5],
  'disk-full': ['the disk of the database is full', 5],
}

/**
 * The database as requests use it. A lease ends, or fails with an error that says why, by the deadline of its request, or a
 * round of the monitor later.
 * @throws (each lease) DatabaseUnavailable, StatementTimeout, ClientGone, or the database's own error
 */
export class ServingDatabase implements Runner {
  readonly pool: ConnectionPool
  readonly writes: Writes
  readonly #monitor: StatementMonitor

  constructor(
    open: Open,
    readonly bounds: PoolBounds,
    private readonly log: StateLog,
    private readonly clock: Clock = SYSTEM_CLOCK,
  ) {
    this.pool = new ConnectionPool(open, bounds, log, clock)
    this.writes = new Writes(log, clock)
    this.#monitor = new StatementMonitor(this.pool)
  }

  async close(): Promise<void> {
    await Promise.all([this.pool.close(), this.#monitor.stop()])
  }

  /** Runs the statements of a request. A cut lease is repeated once: it reads, or inserts rows under a given key. */
  forRequest({ signal, deadline, attempts = 2, writes }: Requester, lane = SHARED_LANE): Leases {
    const requester = { signal, deadline, attempts, writes }
    return {
      lease: work => this.#lease(work, lane, requester),
      unsafe: (text, parameters, options) =>
        this.#lease(lease => lease.unsafe(text, parameters, options), lane, requester),
    }
  }

  /** Runs a statement of no request, which is not repeated. */
  unsafe(text: string, parameters: ParameterOrJSON<never>[], options: RunOptions): Promise<object> {
    return this.#lease(lease => lease.unsafe(text, parameters, options), SERVICE_LANE, {})
  }

  /** Why requests cannot be answered now, in words that hold no secret; undefined if they can. */
  async trouble(): Promise<string | undefined> {
    // A busy pool is no trouble of the database, and a check need not wait in its queue.
    if (this.pool.isBusy()) return this.pool.unreachable
    await this.unsafe('select 1', [], { prepare: false }).catch(error => {
      if (!(error instanceof DatabaseUnavailable)) throw error
    })
    return this.pool.unreachable
  }

  /** Asks the database whether it is read-only, as a standby is, and notes the answer. @throws as a statement */
  async checkReadOnly(): Promise<boolean> {
    const text = `select current_setting('transaction_read_only') = 'on' as value`
    const [row] = (await this.unsafe(text, [], { prepare: false })) as { value: boolean }[]
    const isReadOnly = row?.value === true
    this.writes.noteReadOnly(isReadOnly)
    return isReadOnly
  }

  /** The one way to a connection: a single statement is a lease, too. */
  async #lease<Result>(
    work: (lease: ConnectionLease) => Promise<Result>,
    lane: string,
    { signal, deadline = this.clock.now() + requestMs(this.bounds), attempts = 1, writes }: Requester,
  ): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      const connection = await this.pool.acquire(lane, deadline, signal)
      const lease = new ConnectionLease(connection, this.clock, (text, at) => this.#logIfSlow(text, at))
      const hangUp = () => lease.hangUp()
      signal?.addEventListener('abort', hangUp, { once: true })
      try {
        if (signal?.aborted) throw new ClientGone()
        const result = await work(lease)
        if (lease.failure === undefined) return result
        throw lease.failure
      } catch (error) {
        // An error of the work itself says nothing about the database.
        if (lease.failure === undefined) throw error
        const verdict = await this.#conclude(lease, connection)
        if (signal?.aborted) throw new ClientGone()
        const isElsewhere = verdict === 'read-only' && connection.isClosed
        const mayPass = verdict === 'cut' || verdict === 'passing' || isElsewhere
        const isRepeated = mayPass && attempt < attempts && mayRepeat(deadline, this.clock.now())
        if (!(isElsewhere && isRepeated)) this.#noteRefusal(lease.failure, writes)
        if (isRepeated) continue
        // The first attempt had inserted the row, and its answer was lost.
        const isDouble = attempt > 1 && (lease.failure as { code?: string }).code === UNIQUE_VIOLATION
        throw failureOf(lease.failure, isDouble ? 'cut' : verdict)
      } finally {
        signal?.removeEventListener('abort', hangUp)
        connection.release()
      }
    }
  }

  /** What the failure of a lease says about the database, with what follows from it for the connections. */
  async #conclude({ failure, sent }: ConnectionLease, connection: Connection): Promise<Verdict> {
    const verdict = verdictOf(failure)
    if (verdict === 'cut') connection.destroy()
    // After a switchover, all connections may lead to the former primary.
    if (verdict === 'read-only') this.pool.replaceAll(!(await connection.test()))
    // What was sent after the statement that failed may still run.
    if (sent > 1) void connection.giveUp()
    return verdict
  }

  #noteRefusal(failure: unknown, writes: Requester['writes']): void {
    const refusal = refusalOf(failure)
    if (!refusal) return
    // A server that is read-only issues no tokens, whatever was to be written.
    const refused = refusal === 'read-only' ? (writes ?? 'tokens') : writes
    this.writes.refused(refusal, refused, (failure as { code?: string }).code)
  }

  /** The text of a statement holds none of its values, which are names and ids of people. */
  #logIfSlow(text: string, startedAt: number): void {
    const ms = this.clock.now() - startedAt
    if (ms < this.bounds.slowMs) return
    const statement = text.trim().replaceAll(/\s+/g, ' ').slice(0, LOGGED_CHARACTERS)
    this.log.warn({ ms: Math.round(ms), statement }, 'slow statement')
  }
}

/** The error to throw instead of the database's own one, if its cause is known. */
function failureOf(error: unknown, verdict: Verdict): unknown {
  if (verdict === 'unforeseen') return error
  if (verdict === 'timeout') return new StatementTimeout()
  return new DatabaseUnavailable(...(REASONS[verdict] ?? [reasonOf(error)]))
}
