import type { ParameterOrJSON } from 'postgres'
import { MACHINE } from '../connection/clock.ts'
import type { Connection, Open } from '../connection/connection.ts'
import {
  ClientGone,
  DatabaseUnavailable,
  isSilence,
  reasonOf,
  StatementTimeout,
  shortageOf,
  type Verdict,
  verdictOn,
} from '../failures.ts'
import type { Runner, RunOptions } from '../statement.ts'
import { Availability, type StateLog } from './availability.ts'
import type { PoolBounds } from './bounds.ts'
import { ConnectionPool, PING_PATIENCE } from './connection-pool.ts'
import { CANCEL_PATIENCE } from './lookout.ts'

/** Who a statement is run for: a request. */
export interface Asker {
  /** Aborted when the client hangs up: the statement is cancelled, the place in the line given up. */
  signal: AbortSignal
  /** Whether there is another server to ask: what is cut is not run once more here. */
  hasOther?: boolean
}

/** The lane of all who are not known yet. */
const COMMON = ''

/** Characters of a statement in the log: a line stays well below what is written into a pipe unbroken. */
const LONGEST_STATEMENT = 1000

/**
 * The connections that all requests share, within bounds: whatever the database does, a statement is answered,
 * or fails with an error that says what happened, in at most `wait` + `statement` + a second, or twice that where it
 * is run once more; and when the database is back, the next one is answered without a restart.
 * @throws (each statement) DatabaseUnavailable, StatementTimeout, ClientGone, or the database's own error
 */
export class ServingDatabase implements Runner {
  readonly availability: Availability
  readonly #connections: ConnectionPool

  constructor(
    open: Open,
    private readonly bounds: PoolBounds,
    private readonly log: StateLog,
    private readonly clock = MACHINE,
  ) {
    this.availability = new Availability(log, clock)
    this.#connections = new ConnectionPool(open, bounds, this.availability, clock)
  }

  /**
   * The pool for the statements of one request. One that was cut is run once more: requests read, or insert what
   * has its key with it, so that nothing is done twice. Where statements wait, the lanes take turns.
   */
  during(asker: Asker, lane = COMMON): Runner {
    return { unsafe: (text, parameters, options) => this.#run(text, parameters, options, lane, asker) }
  }

  /** Makes room for one more statement of a lane where another one has more that wait: its last fails. */
  displace(lane = COMMON): boolean {
    return this.#connections.displace(lane)
  }

  unsafe(text: string, parameters: ParameterOrJSON<never>[], options: RunOptions): Promise<object> {
    return this.#run(text, parameters, options, COMMON)
  }

  /** Why requests cannot be answered now, in words that anybody may read; undefined when they can. */
  async trouble(): Promise<string | undefined> {
    try {
      // That all connections are in use is no trouble of the database, and no reason to stand in the line as well.
      if (!this.isBusy()) await this.unsafe('select 1', [], { prepare: false })
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error
    }
    return this.availability.reason
  }

  /** Connections in use and idle, and statements that wait for one. */
  stats(): { inUse: number; idle: number; waiting: number } {
    return this.#connections.stats()
  }

  /** Whether the next statement has to wait for a connection of another one. */
  isBusy(): boolean {
    return this.#connections.isBusy()
  }

  /** Somebody else has found that the server is of no use: what runs or waits there fails now. It is looked for. */
  lose(reason: string): void {
    this.#connections.lose(reason)
  }

  /** Ends every connection; statements that still run or wait fail. */
  async close(): Promise<void> {
    await this.#connections.close()
  }

  async #run(
    text: string,
    parameters: ParameterOrJSON<never>[],
    options: RunOptions,
    lane: string,
    asker?: Asker,
  ): Promise<object> {
    for (let attempt = 1; ; attempt++) {
      const connection = await this.#connections.acquire(lane, asker?.signal)
      try {
        const rows = await this.#runOn(connection, text, parameters, options, asker?.signal)
        return rows
      } catch (error) {
        if (asker?.signal.aborted) throw new ClientGone()
        const shortage = shortageOf(error)
        if (shortage) this.availability.ranShort(shortage)
        const verdict = verdictOn(error)
        // A server that is no longer of the kind asked for refuses what another one may take.
        const isMisled = verdict === 'read-only' && connection.isOver
        const mayPass = verdict === 'cut' || verdict === 'passing' || isMisled
        if (!mayPass || !asker || asker.hasOther || attempt > 1)
          throw this.#failure(error, attempt > 1 && isDouble(error) ? 'cut' : verdict)
      }
    }
  }

  /** Its text holds none of its values, which are names and ids of people. */
  #report(text: string, ms: number): void {
    if (ms < this.bounds.slow) return
    const statement = text.trim().replaceAll(/\s+/g, ' ').slice(0, LONGEST_STATEMENT)
    this.log.warn({ ms: Math.round(ms), statement }, 'slow statement')
  }

  /** What is thrown instead of the database's own error, where that stands for something known. */
  #failure(error: unknown, verdict: Verdict): unknown {
    switch (verdict) {
      case 'cut':
        return new DatabaseUnavailable('the connection to the database was lost')
      case 'passing':
        return new DatabaseUnavailable(reasonOf(error))
      case 'timeout':
        return new StatementTimeout()
      case 'read-only':
        this.availability.sawReadOnly(true)
        return new DatabaseUnavailable('the database is read-only', 5)
      case 'disk-full':
        return new DatabaseUnavailable('the disk of the database is full', 5)
      default:
        return error
    }
  }

  /** After a switchover these may be connections to a server that was the primary. */
  async #suspect(connection: Connection): Promise<void> {
    const isWanted = await connection.answers(PING_PATIENCE)
    this.#connections.renew(!isWanted)
  }

  async #runOn(
    connection: Connection,
    text: string,
    parameters: ParameterOrJSON<never>[],
    options: RunOptions,
    signal: AbortSignal | undefined,
  ): Promise<object> {
    const cancel = () => void connection.cancel(CANCEL_PATIENCE)
    signal?.addEventListener('abort', cancel, { once: true })
    const started = this.clock.now()
    try {
      if (signal?.aborted) throw new ClientGone()
      const rows = await connection.run(text, parameters, options)
      this.#report(text, this.clock.now() - started)
      return rows
    } catch (error) {
      // What a database took with it that is gone was not slow by itself.
      if (isSilence(error) || verdictOn(error) === 'timeout') this.#report(text, this.clock.now() - started)
      if (isSilence(error)) throw new StatementTimeout()
      if (verdictOn(error) === 'cut') connection.destroy()
      if (verdictOn(error) === 'read-only') await this.#suspect(connection)
      throw error
    } finally {
      signal?.removeEventListener('abort', cancel)
      this.#connections.release(connection)
    }
  }
}

/** What was cut had been done: its answer is lost. */
const isDouble = (error: unknown) => (error as { code?: string }).code === '23505'
