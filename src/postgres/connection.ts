import type { Socket } from 'node:net'
import type { ParameterOrJSON, Sql } from 'postgres'
import { type Backend, cancelBackend } from './cancel.ts'
import { client, type Login, type Parameters } from './client.ts'
import { afterSilence, closed, silence } from './patience.ts'
import { type Session, type Wanted, willDo } from './session.ts'
import { openSocket, type Route } from './socket.ts'
import type { RunOptions } from './statement.ts'
import { asText, valueTypes } from './value-types.ts'

/** Milliseconds that a connection is of use, half of it at least: its name may lead to another server by then. */
const LIFETIME = 60 * 60_000

/** Milliseconds for a goodbye. */
const FAREWELL = 1000

interface Who extends Session {
  pid: number
  server: string
}

/** Whoever answers: a process of a server, which differs from all others in the microsecond of its start. */
const WHO = `
  select pg_backend_pid() as pid, extract(epoch from pg_postmaster_start_time())::text as server,
    pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "isReadOnly"`

/** What a connection is to be. */
export interface Start {
  login: Login
  route: Route
  parameters: Parameters
  prepare: boolean
  wanted: Wanted
}

/**
 * One connection, from its beginning to its end, with one statement at a time. It is never opened again:
 * postgres.js 3.4.9 tries for ever and without a pause where connections are accepted and closed, and what
 * was half written when one was cut it sends to the next.
 */
export class Connection {
  /** performance.now() of its beginning, and of when it was last of use. */
  readonly openedAt = performance.now()
  usedAt = this.openedAt
  /** performance.now() of the beginning of the statement that is running. */
  runningSince: number | undefined
  readonly bestBefore = this.openedAt + LIFETIME * (0.5 + Math.random() / 2)
  /** Which server it leads to; undefined when a pooler is in between. */
  server: string | undefined
  isStandby = false
  #backend: Backend | undefined
  /** Bytes that had come when that was looked at, and performance.now() of the look that found more than before. */
  #bytesRead = 0
  #heardAt = 0
  /** Whether the last statement failed. */
  #isUnsettled = false
  #isOver = false
  #abandon: ((error: Error) => void) | undefined
  #cancelling: Promise<void> | undefined
  #onEnd: (connection: Connection) => void = () => {}
  readonly #sql: Sql

  private constructor(
    readonly start: Start,
    private readonly socket: Socket,
  ) {
    let isTaken = false
    const take = async () => {
      if (isTaken || socket.destroyed) throw closed()
      isTaken = true
      return socket
    }
    this.#sql = client(start.login, start.parameters, take, {
      max: 1,
      max_lifetime: null,
      prepare: start.prepare,
      fetch_types: false,
      types: valueTypes(),
      onclose: () => this.#end(),
    })
  }

  /**
   * @param patience milliseconds until it has to have answered
   * @param onEnd called once when it has ended, in whatever way
   * @throws the error of the socket or of the server; ETIMEDOUT, NO_ANSWER; NOT_WANTED
   */
  static async open(
    start: Start,
    patience: number,
    onEnd: (connection: Connection) => void,
  ): Promise<Connection> {
    const deadline = performance.now() + patience
    const connection = new Connection(start, await openSocket(start.route, patience))
    await connection.#greet(deadline - performance.now())
    if (connection.isOver) throw closed()
    connection.#onEnd = onEnd
    return connection
  }

  async #greet(patience: number): Promise<void> {
    const rows = (await this.ask(WHO, patience)) as Who[] & { state?: Backend }
    const [who] = rows
    if (!who) throw new Error('the server did not say who it is')
    this.#backend = rows.state
    // A pooler makes up the pid that it tells, and may run the next statement elsewhere.
    this.server = who.pid === this.pid ? who.server : undefined
    this.isStandby = who.isStandby
    if (willDo(this.start.wanted, who)) return
    void this.close()
    throw Object.assign(new Error('it is not of the kind asked for'), { code: 'NOT_WANTED' })
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /**
   * Runs a statement that has no parameters.
   * @param patience milliseconds until it has to have been answered
   * @throws as run(), and ends the connection; NO_ANSWER
   */
  async ask(text: string, patience: number): Promise<object> {
    const settle = afterSilence(patience, () => this.destroy(noAnswer()))
    try {
      return await this.run(text, [], { prepare: false })
    } catch (error) {
      this.destroy(error as Error)
      throw error
    } finally {
      settle()
    }
  }

  /** Of the server's process, as the server told it. */
  get pid(): number | undefined {
    return this.#backend?.pid
  }

  /**
   * Runs one statement.
   * @throws the error of the statement or the connection
   */
  async run(text: string, parameters: ParameterOrJSON<never>[], options: RunOptions): Promise<object> {
    if (this.#isOver) throw closed()
    // Not a race against one promise for all statements: that would collect them for as long as the connection lives.
    const { promise, resolve, reject } = Promise.withResolvers<object>()
    this.#abandon = reject
    this.runningSince = performance.now()
    this.#send(text, parameters, options).then(resolve, reject)
    try {
      return await promise
    } catch (error) {
      this.#isUnsettled = true
      throw error
    } finally {
      this.#abandon = undefined
      this.runningSince = undefined
      this.usedAt = performance.now()
    }
  }

  async #send(text: string, parameters: ParameterOrJSON<never>[], options: RunOptions): Promise<object> {
    // postgres.js 3.4.9 puts the next rows behind those that came before an error: it counts from 0 again
    // only after a statement that came to its end.
    if (this.#isUnsettled) await this.#sql.unsafe('select 1')
    this.#isUnsettled = false
    // Behind a pooler the next statement may be run by another process, which has nothing prepared.
    const prepare = options.prepare && this.server !== undefined
    const query = this.#sql.unsafe(text, parameters.map(asText), { prepare })
    if (!prepare) sendAtOnce(query)
    return await (options.bytes ? query.raw() : query)
  }

  /**
   * Milliseconds in which nothing came, not even a part of an answer, while a statement runs; 0 when none does.
   * As exact as the looks are frequent: `now` counts as when it came.
   */
  silence(now: number): number {
    const { bytesRead } = this.socket
    if (bytesRead !== this.#bytesRead) this.#heardAt = now
    this.#bytesRead = bytesRead
    return this.runningSince === undefined ? 0 : now - Math.max(this.runningSince, this.#heardAt)
  }

  /** Whether it still answers, and is of the kind that was asked for; ended when not. */
  async answers(patience: number): Promise<boolean> {
    return await this.#greet(patience).then(
      () => true,
      () => false,
    )
  }

  /**
   * Asks the server to end the statement that is running. Resolves when the server has passed that on, so
   * that it cannot hit a later statement; until then no other may be run. Ends the connection where that cannot
   * be known.
   */
  cancel(patience: number): Promise<void> {
    this.#cancelling ??= this.#cancel(patience).finally(() => {
      this.#cancelling = undefined
    })
    return this.#cancelling
  }

  /** Resolves when no request to cancel is on its way any more; undefined when none is. */
  get cancelled(): Promise<void> | undefined {
    return this.#cancelling
  }

  async #cancel(patience: number): Promise<void> {
    try {
      if (!this.#backend) throw new Error('the server did not say how to cancel')
      await cancelBackend(this.start.route, this.#backend, patience)
    } catch {
      this.destroy(silence())
    }
  }

  /**
   * Ends it with the statement that is running: that one fails at once, and is cancelled before the connection goes. A
   * pooler forgets with the connection how to cancel it.
   */
  async giveUp(patience: number, error: Error = silence()): Promise<void> {
    this.#abandon?.(error)
    await this.cancel(patience)
    this.destroy()
  }

  /** Ends it at once; a statement that is running fails with `error`. */
  destroy(error: Error = closed()): void {
    this.#end()
    this.#abandon?.(error)
    this.socket.destroy()
    this.#sql.end({ timeout: 0 }).catch(() => {})
  }

  /** Ends it politely; nothing may be running. */
  async close(): Promise<void> {
    this.#end()
    await this.#sql.end({ timeout: FAREWELL / 1000 }).catch(() => {})
    this.socket.destroy()
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#onEnd(this)
  }
}

/** Opens one more connection; `onEnd` is called once when it has ended. */
export type Open = (patience: number, onEnd: (connection: Connection) => void) => Promise<Connection>

/**
 * postgres.js 3.4.9 asks the server for the types of the parameters of a statement that is not prepared, and waits for
 * the answer, before it sends their values. With every value as text that Postgres reads by its cast, one round
 * trip does.
 */
function sendAtOnce(query: object): void {
  Object.defineProperty(query, 'describeFirst', { get: () => false, set: () => {} })
}

const noAnswer = () => Object.assign(new Error('it does not answer'), { code: 'NO_ANSWER' })
