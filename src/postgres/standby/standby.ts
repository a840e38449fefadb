import type { Open } from '../connection/connection.ts'
import { isSilence, reasonOf } from '../failures.ts'
import type { StateLog } from '../pool/availability.ts'
import type { PoolBounds } from '../pool/bounds.ts'
import { ServingDatabase } from '../pool/serving-database.ts'
import { type Known, Trust, whyBehind, whyNoStandby } from './fitness.ts'
import { lookThrough, Onlooker } from './look.ts'
import type { Lag, Positions } from './positions.ts'

/** What a standby is held against. */
export interface Primary {
  /** What the primary last said; undefined before its first answer. */
  known: Known | undefined
  positions: Positions
}

/** Milliseconds in which a server has to have said where it is. */
export const LOOK_PATIENCE = 2000

/** A server that is read from while it is a standby of the primary, answers, and is not too far behind. */
export class Standby {
  readonly pool: ServingDatabase
  /** For rendezvous hashing: of its name, so that all processes agree, and one more moves no token between the others. */
  readonly seed: bigint
  /** Pages and records that it has answered. */
  reads = 0
  /** Undefined while that is not known. */
  lag: Lag | undefined
  readonly #trust = new Trust()
  readonly #onlooker: Onlooker
  #isLooking = false

  /**
   * @param name as readServers() has it
   * @param open opens a connection to whatever listens there
   * @param most milliseconds that it may be behind
   */
  constructor(
    readonly name: string,
    open: Open,
    bounds: PoolBounds,
    private readonly primary: Primary,
    private readonly most: number,
    private readonly log: StateLog,
  ) {
    this.seed = Bun.hash(name) as bigint
    const told: StateLog = {
      info: (details, message) => log.info({ standby: name, ...details }, message),
      warn: (details, message) => log.warn({ standby: name, ...details }, message),
    }
    this.pool = new ServingDatabase(this.#standbysOnly(open), bounds, told)
    this.#onlooker = new Onlooker(open)
  }

  /** Why it is passed over, in words for people; undefined when it is read from. */
  get why(): string | undefined {
    return this.#trust.why ?? this.pool.availability.reason
  }

  /** Looks at it once, unless a look is under way. */
  async look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      const look = await this.#onlooker.look(LOOK_PATIENCE)
      const foreign = whyNoStandby(look, this.primary.known)
      this.lag = foreign === undefined ? this.primary.positions.lagOf(look.position) : undefined
      this.#judge(foreign ?? (this.lag && whyBehind(this.lag, this.most)), foreign !== undefined)
    } catch (error) {
      this.lag = undefined
      // Where it says nothing at all, requests would wait for it until somebody looks into that.
      this.#judge(reasonOf(error), isSilence(error))
    } finally {
      this.#isLooking = false
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.pool.close(), this.#onlooker.close()])
  }

  /** @param isOver its connections, with the statements on them, are to go at once */
  #judge(why: string | undefined, isOver: boolean): void {
    const news = this.#trust.note(why)
    const { inUse, idle, waiting } = this.pool.stats()
    if (why !== undefined && isOver && inUse + idle + waiting > 0) this.pool.lose(why)
    if (news === 'lost') this.log.warn({ standby: this.name, reason: why }, 'a standby is passed over')
    if (news === 'found') this.log.info({ standby: this.name }, 'a standby is read from again')
  }

  /** Between two looks another server may have come to listen there. */
  #standbysOnly(open: Open): Open {
    return async (patience, onEnd) => {
      const deadline = performance.now() + patience
      const connection = await open(patience, onEnd)
      const look = await lookThrough(connection, deadline - performance.now())
      if (whyNoStandby(look, this.primary.known) === undefined) return connection
      void connection.close()
      throw Object.assign(new Error('it is no standby of the primary'), { code: 'NO_STANDBY' })
    }
  }
}
