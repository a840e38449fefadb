import { within } from '../../within.ts'
import type { Open } from '../connection/connection.ts'
import { reasonOf } from '../failures.ts'
import type { StateLog } from '../pool/availability.ts'
import type { PoolBounds } from '../pool/bounds.ts'
import { Onlooker } from './look.ts'
import { Positions } from './positions.ts'
import { LOOK_PATIENCE, type Primary, Standby } from './standby.ts'

/** Milliseconds between two looks at every server. */
const INTERVAL = 1000

/** Milliseconds for which a look at the standbys waits for that at the primary: a lag is against its newest position. */
const AHEAD = 250

/** A server as operators see it. */
export interface Reader {
  /** host:port of a standby, or "primary". */
  server: string
  /** Whether pages and records are read there at present. */
  serves: boolean
  /** Seconds behind the primary, to the second; at least so many where it has not replayed anything known. */
  lag?: number
  /** Why it is passed over, or, of the primary, cannot be reached. */
  why?: string
}

interface ReplicasOptions {
  /** A name and how to open a connection, for each server of DATABASE_READ_URL. */
  servers: { name: string; open: Open }[]
  /** Opens a connection to the server of DATABASE_URL. */
  primary: Open
  bounds: PoolBounds
  /** READ_LAG, milliseconds. */
  lag: number
  log: StateLog
}

/**
 * The standbys that are read from. Each second the primary is asked where it is in its log of writes, and then each
 * standby how much of that it has replayed. While the primary cannot be asked, its last answer stands.
 */
export class Replicas {
  readonly standbys: Standby[]
  /** Pages and records that the primary has answered. */
  primaryReads = 0
  /** Requests whose token a standby did not know, and ones that met trouble on a standby. */
  readonly moved = { unknownToken: 0, trouble: 0 }
  /** Milliseconds in which requests that met trouble go on to one more server. */
  readonly patience: number
  readonly #primary: Primary = { known: undefined, positions: new Positions() }
  readonly #onlooker: Onlooker
  /** Why the primary cannot be asked. */
  #reason: string | undefined
  #isLooking = false
  #rounds: Timer | undefined

  private constructor({ servers, primary, bounds, lag, log }: ReplicasOptions) {
    this.patience = bounds.wait
    this.#onlooker = new Onlooker(primary)
    this.standbys = servers.map(({ name, open }) => new Standby(name, open, bounds, this.#primary, lag, log))
  }

  /** Resolves after the first look, however that ends: a standby that is away stops nobody. */
  static async open(options: ReplicasOptions): Promise<Replicas> {
    const replicas = new Replicas(options)
    await replicas.#lookAtPrimary()
    await replicas.#look()
    replicas.#rounds = setInterval(() => void replicas.#look(), INTERVAL).unref()
    return replicas
  }

  /** The standbys that may be asked, a token's own first: by rendezvous hashing, on every process alike. */
  inTurn(tokenDigest: Uint8Array): Standby[] {
    const fit = this.standbys.filter(standby => standby.why === undefined)
    return fit.length < 2 ? fit : ranked(tokenDigest, fit)
  }

  /** Whether there is no other server than the standbys. */
  get isPrimaryAway(): boolean {
    return this.#reason !== undefined
  }

  readers(): Reader[] {
    const standbys: Reader[] = this.standbys.map(({ name, lag, why }) => ({
      server: name,
      serves: why === undefined,
      ...(lag && { lag: Math.round(lag.lag / 1000) }),
      ...(why !== undefined && { why }),
    }))
    const why = this.#reason
    const serves = why === undefined && standbys.every(({ serves }) => !serves)
    return [...standbys, { server: 'primary', serves, ...(why !== undefined && { why }) }]
  }

  async close(): Promise<void> {
    clearInterval(this.#rounds)
    await Promise.all([this.#onlooker.close(), ...this.standbys.map(standby => standby.close())])
  }

  async #look(): Promise<void> {
    await within(AHEAD, this.#lookAtPrimary(), undefined)
    await Promise.all(this.standbys.map(standby => standby.look()))
  }

  async #lookAtPrimary(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      const at = performance.now()
      const { system, timeline, position } = await this.#onlooker.look(LOOK_PATIENCE)
      const { known, positions } = this.#primary
      if (known?.system !== system || known.timeline !== timeline) positions.forget()
      this.#primary.known = { system, timeline }
      positions.note(position, at)
      this.#reason = undefined
    } catch (error) {
      this.#reason = reasonOf(error)
    } finally {
      this.#isLooking = false
    }
  }
}

/** In the order of hashes of key and seed: without one of them, the others keep their order. */
export function ranked<Server extends { seed: bigint }>(key: Uint8Array, servers: Server[]): Server[] {
  const ranks = servers.map(server => ({ server, rank: Bun.hash.wyhash(key, server.seed) }))
  return ranks.sort((a, b) => (a.rank > b.rank ? -1 : 1)).map(({ server }) => server)
}
