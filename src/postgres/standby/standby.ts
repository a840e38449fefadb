import { shared } from '../../within.ts'
import type { Open } from '../connection/connection.ts'
import { codedError, isTimeout, reasonOf } from '../failures.ts'
import type { PoolBounds } from '../pool/bounds.ts'
import type { StateLog } from '../pool/pool-state.ts'
import { ServingDatabase } from '../pool/serving-database.ts'
import {
  checked,
  type Eligibility,
  type PrimaryIdentity,
  whyNotStandby,
  whyPassedOver,
  whyTooFarBehind,
} from './eligibility.ts'
import type { Lag, Positions } from './positions.ts'
import { queryStatus, StatusProbe } from './server-status.ts'

/** What is known about the primary. */
export interface Primary {
  /** Undefined before its first answer. */
  identity: PrimaryIdentity | undefined
  positions: Positions
}

/** For the status of a server. */
export const CHECK_TIMEOUT_MS = 2000

/** A server that is read from while it is a standby of the primary, answers, and is not too far behind. */
export class Standby {
  readonly database: ServingDatabase
  /** For rendezvous hashing: the same on every process. */
  readonly seed: bigint
  /** Pages and records that it has answered. */
  reads = 0
  /** Undefined while it is not known. */
  lag: Lag | undefined
  #eligibility: Eligibility = { is: 'unknown' }
  readonly #probe: StatusProbe

  /**
   * @param name as standbyAddresses() returns it
   * @param open opens a connection to whatever server listens there
   */
  constructor(
    readonly name: string,
    open: Open,
    bounds: PoolBounds,
    private readonly primary: Primary,
    private readonly maxLagMs: number,
    private readonly log: StateLog,
  ) {
    this.seed = Bun.hash(name) as bigint
    const standbyLog: StateLog = {
      info: (details, message) => log.info({ standby: name, ...details }, message),
      warn: (details, message) => log.warn({ standby: name, ...details }, message),
    }
    this.database = new ServingDatabase(this.#standbyOnly(open), bounds, standbyLog)
    this.#probe = new StatusProbe(open)
  }

  /** Why it is passed over, for people; undefined if it is read from. */
  get why(): string | undefined {
    return whyPassedOver(this.#eligibility) ?? this.database.pool.unreachable
  }

  /** Checks it once, unless a check is under way. */
  readonly check = shared(async () => {
    try {
      const status = await this.#probe.query(CHECK_TIMEOUT_MS)
      const whyNot = whyNotStandby(status, this.primary.identity)
      this.lag = whyNot === undefined ? this.primary.positions.lagOf(status.position) : undefined
      this.#note(whyNot ?? (this.lag && whyTooFarBehind(this.lag, this.maxLagMs)), whyNot !== undefined)
    } catch (error) {
      this.lag = undefined
      // Requests would wait for a silent server until its pool notices.
      this.#note(reasonOf(error), isTimeout(error))
    }
  })

  async close(): Promise<void> {
    await Promise.all([this.database.close(), this.#probe.close()])
  }

  /** @param isLost whether its connections are ended at once, with their statements */
  #note(problem: string | undefined, isLost: boolean): void {
    const before = this.#eligibility
    const now = performance.now()
    this.#eligibility = checked(before, problem, now)
    const { pool } = this.database
    const { inUse, idle, waiting } = pool.stats()
    if (problem !== undefined && isLost && inUse + idle + waiting > 0) pool.lose(problem)
    if (before.is === this.#eligibility.is) return
    const log = { standby: this.name }
    if (before.is === 'healthy') {
      const seconds = Math.round((now - before.since) / 1000)
      this.log.warn({ ...log, reason: problem, seconds }, 'a standby is passed over')
    } else if (before.is === 'unhealthy') this.log.info(log, 'a standby is read from again')
    else if (problem !== undefined) this.log.warn({ ...log, reason: problem }, 'a standby is passed over')
  }

  /** Between two checks, another server may have come to listen there. */
  #standbyOnly(open: Open): Open {
    return async (timeoutMs, signal) => {
      const deadline = performance.now() + timeoutMs
      const connection = await open(timeoutMs, signal)
      const status = await queryStatus(connection, deadline - performance.now())
      if (whyNotStandby(status, this.primary.identity) === undefined) return connection
      void connection.close()
      throw codedError('NO_STANDBY', 'the server is no standby of the primary')
    }
  }
}
