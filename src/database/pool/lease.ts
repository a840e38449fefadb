import type { ParameterOrJSON } from 'postgres'
import type { Clock } from '../connection/clock.ts'
import type { Connection } from '../connection/connection.ts'
import { ClientGone, isTimeout, type Verdict, verdictOn } from '../failures.ts'
import { type Lease, quiet, type RunOptions } from '../statement.ts'

/** A transaction that sends nothing for so long is ended by the server: its process may be stopped. */
export const IDLE_TRANSACTION_MS = 1000

/** One message. Parameters of the connection would not reach the server behind a pooler. */
export const BEGIN = `begin isolation level repeatable read, read only; set local idle_in_transaction_session_timeout = ${IDLE_TRANSACTION_MS}`

const PLAIN = { prepare: false }

/** What happened to a lease that failed: without an answer in time, its connection was given up. */
export const verdictOf = (failure: unknown): Verdict => (isTimeout(failure) ? 'timeout' : verdictOn(failure))

/** The lease of one connection. After its first failure it sends nothing, and each statement fails with that error. */
export class ConnectionLease implements Lease {
  /** The first failure: an error of a statement or of the connection, or ClientGone. */
  failure: unknown
  /** Statements that were sent, BEGIN and COMMIT included. */
  sent = 0

  /** @param ran is called with the text of each statement that ended, and when it was sent */
  constructor(
    private readonly connection: Connection,
    private readonly clock: Clock,
    private readonly ran: (text: string, sentAt: number) => void,
  ) {}

  begin(): void {
    void quiet(this.#run(BEGIN, [], PLAIN))
  }

  commit(): Promise<void> {
    return quiet(this.#run('commit', [], PLAIN).then(() => {}))
  }

  /** @throws the first failure of the lease */
  unsafe(text: string, parameters: ParameterOrJSON<never>[], options: RunOptions): Promise<object> {
    return quiet(this.#run(text, parameters, options))
  }

  /** The client has gone: cancels what runs, and lets no further statement run. */
  hangUp(): void {
    this.failure ??= new ClientGone()
    if (this.connection.isBusy) this.connection.cancel()
  }

  async #run(text: string, parameters: ParameterOrJSON<never>[], options: RunOptions): Promise<object> {
    if (this.failure !== undefined) throw this.failure
    this.sent++
    const sentAt = this.clock.now()
    try {
      const rows = await this.connection.run(text, parameters, options)
      this.ran(text, sentAt)
      if (this.failure === undefined) return rows
    } catch (error) {
      this.failure ??= error
      // Other failures were not slow: the database was lost.
      if (verdictOf(error) === 'timeout') this.ran(text, sentAt)
    }
    throw this.failure
  }
}
