import { shared, within } from '../../within.ts'
import type { Open } from '../connection/connection.ts'
import { reasonOf } from '../failures.ts'
import type { PoolBounds } from '../pool/bounds.ts'
import type { StateLog } from '../pool/pool-state.ts'
import { Positions } from './positions.ts'
import { StatusProbe } from './server-status.ts'
import { CHECK_TIMEOUT_MS, type Primary, Standby } from './standby.ts'

/** Between two checks of every server. */
const CHECK_INTERVAL_MS = 1000

/** The checks of the standbys wait so long for the primary's, because a lag is behind its newest position. */
const PRIMARY_FIRST_MS = 250

/** A server as operators see it. */
export interface ServerView {
  /** host:port of a standby, or "primary". */
  server: string
  /** Whether pages and records are read there now. */
  serves: boolean
  /** Seconds behind the primary; at least so many if the oldest known position is not replayed. */
  lag?: number
  /** Why it is passed over; of the primary, why it cannot be reached. */
  why?: string
}

interface StandbysOptions {
  /** The servers of DATABASE_READ_URL. */
  servers: { name: string; open: Open }[]
  /** Opens a connection to DATABASE_URL. */
  primary: Open
  bounds: PoolBounds
  /** READ_LAG */
  maxLagMs: number
  log: StateLog
}

/**
 * The standbys that are read from. Each second the primary is asked for its position in the WAL, and then each standby for
 * its replay position. While the primary does not answer, its last answer stays in use.
 */
export class Standbys {
  readonly all: Standby[]
  /** Pages and records that the primary has answered. */
  primaryReads = 0
  /** Requests that moved on to another server: the standby did not know their token, had older data, or failed. */
  readonly moved = { unknownToken: 0, olderData: 0, trouble: 0 }
  readonly #primary: Primary = { identity: undefined, positions: new Positions() }
  readonly #probe: StatusProbe
  /** Why the primary does not answer. */
  #whyAway: string | undefined
  #checks: Timer | undefined

  private constructor({ servers, primary, bounds, maxLagMs, log }: StandbysOptions) {
    this.#probe = new StatusProbe(primary)
    this.all = servers.map(({ name, open }) => new Standby(name, open, bounds, this.#primary, maxLagMs, log))
  }

  /** Resolves after the first check, whatever it finds: the service starts without a standby that is away. */
  static async open(options: StandbysOptions): Promise<Standbys> {
    const standbys = new Standbys(options)
    await standbys.#checkPrimary()
    await standbys.#check()
    standbys.#checks = setInterval(() => void standbys.#check(), CHECK_INTERVAL_MS).unref()
    return standbys
  }

  /** The standbys that may be asked, in the order of rendezvous hashing: the same on every process. */
  candidates(tokenDigest: Uint8Array): Standby[] {
    const healthy = this.all.filter(standby => standby.why === undefined)
    return healthy.length < 2 ? healthy : ranked(tokenDigest, healthy)
  }

  get isPrimaryAway(): boolean {
    return this.#whyAway !== undefined
  }

  /** The standbys and the primary, as operators see them. */
  servers(): ServerView[] {
    const standbys: ServerView[] = this.all.map(({ name, lag, why }) => ({
      server: name,
      serves: why === undefined,
      ...(lag && { lag: Math.round(lag.lagMs / 1000) }),
      ...(why !== undefined && { why }),
    }))
    const why = this.#whyAway
    const serves = why === undefined && standbys.every(({ serves }) => !serves)
    return [...standbys, { server: 'primary', serves, ...(why !== undefined && { why }) }]
  }

  async close(): Promise<void> {
    clearInterval(this.#checks)
    await Promise.all([this.#probe.close(), ...this.all.map(standby => standby.close())])
  }

  async #check(): Promise<void> {
    await within(PRIMARY_FIRST_MS, this.#checkPrimary(), undefined)
    await Promise.all(this.all.map(standby => standby.check()))
  }

  readonly #checkPrimary = shared(async () => {
    try {
      const at = performance.now()
      const { system, timeline, position } = await this.#probe.query(CHECK_TIMEOUT_MS)
      const { identity, positions } = this.#primary
      if (identity?.system !== system || identity.timeline !== timeline) positions.clear()
      this.#primary.identity = { system, timeline }
      positions.add(position, at)
      this.#whyAway = undefined
    } catch (error) {
      this.#whyAway = reasonOf(error)
    }
  })
}

/** By the hashes of key and seed: if a server goes, the others keep their order. */
export function ranked<Server extends { seed: bigint }>(key: Uint8Array, servers: Server[]): Server[] {
  const ranks = servers.map(server => ({ server, rank: Bun.hash.wyhash(key, server.seed) }))
  return ranks.sort((a, b) => (a.rank > b.rank ? -1 : 1)).map(({ server }) => server)
}
