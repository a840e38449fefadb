import type { ParameterOrJSON } from 'postgres'
import type { RunOptions } from '../statement.ts'
import type { Backend } from './cancel.ts'
import { type Clock, MACHINE } from './clock.ts'
import { type Session, willDo } from './session.ts'
import { afterSilence, closed, silence } from './timeouts.ts'
import { type Dial, dialPostgres, type Start, type Wire } from './wire.ts'

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

/**
 * One connection, from its beginning to its end, with one statement at a time. It is never opened again:
 * postgres.js 3.4.9 tries for ever and without a pause where connections are accepted and closed, and what
 * was half written when one was cut it sends to the next.
 */
export class Connection {
  /** By the clock: its beginning, when it was last of use, and when it is too old to be used. */
  readonly openedAt: number
  usedAt: number
  readonly bestBefore: number
  /** By the clock, the beginning of the statement that is running. */
  runningSince: number | undefined
  /** Which server it leads to; undefined when a pooler is in between. */
  server: string | undefined
  isStandby = false
  #backend: Backend | undefined
  /** Bytes that had come when that was looked at, and by the clock the look that found more than before. */
  #bytesRead = 0
  #heardAt = 0
  #isOver = false
  #abandon: ((error: Error) => void) | undefined
  #cancelling: Promise<void> | undefined
  #onEnd: (connection: Connection) => void = () => {}

  private constructor(
    readonly start: Start,
    private readonly wire: Wire,
    private readonly clock: Clock,
  ) {
    this.openedAt = clock.now()
    this.usedAt = this.openedAt
    this.bestBefore = this.openedAt + clock.about(LIFETIME)
    wire.onEnd = () => this.#end()
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
    dial: Dial = dialPostgres,
    clock = MACHINE,
  ): Promise<Connection> {
    const deadline = clock.now() + patience
    const connection = new Connection(start, await dial(start, patience), clock)
    await connection.#greet(deadline - clock.now())
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
    const settle = afterSilence(patience, () => this.destroy(noAnswer()), this.clock)
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
    this.runningSince = this.clock.now()
    // Behind a pooler the next statement may be run by another process, which has nothing prepared.
    const sendable = this.server === undefined ? { ...options, prepare: false } : options
    this.wire.send(text, parameters, sendable).then(resolve, reject)
    try {
      return await promise
    } finally {
      this.#abandon = undefined
      this.runningSince = undefined
      this.usedAt = this.clock.now()
    }
  }

  /**
   * What `COPY … TO STDOUT` sends, as it comes and no faster than it is taken. Whoever takes less than all of it has to
   * end the connection.
   * @throws the error of the statement or the connection, also in between
   */
  async *copy(text: string): AsyncGenerator<Uint8Array> {
    if (this.#isOver) throw closed()
    const chunks = this.wire.copy(text)
    try {
      for (;;) {
        const next = await this.#waitedFor(chunks.next())
        if (next.done) break
        yield next.value
      }
    } finally {
      await chunks.return(undefined)
    }
  }

  /** Silence counts only while something is asked of the server. */
  async #waitedFor<Result>(work: Promise<Result>): Promise<Result> {
    this.runningSince = this.clock.now()
    try {
      return await work
    } finally {
      this.runningSince = undefined
      this.usedAt = this.clock.now()
    }
  }

  /**
   * Milliseconds in which nothing came, not even a part of an answer, while a statement runs; 0 when none does.
   * As exact as the looks are frequent: `now` counts as when it came.
   */
  silence(now: number): number {
    const { bytesRead } = this.wire
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
      await this.wire.cancel(this.#backend, patience)
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
    this.wire.destroy()
  }

  /** Ends it politely; nothing may be running. */
  async close(): Promise<void> {
    this.#end()
    await this.wire.close(FAREWELL)
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#onEnd(this)
  }
}

/** Opens one more connection; `onEnd` is called once when it has ended. */
export type Open = (patience: number, onEnd: (connection: Connection) => void) => Promise<Connection>

const noAnswer = () => Object.assign(new Error('it does not answer'), { code: 'NO_ANSWER' })
