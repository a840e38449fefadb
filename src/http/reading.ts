import { type Answer, HttpError } from '../answers.ts'
import { PageMemory } from '../assessments/page-memory.ts'
import type { Counters } from '../counters.ts'
import { DatabaseUnavailable, Displaced, QueueTimeout } from '../postgres/failures.ts'
import type { Requester, ServingDatabase } from '../postgres/pool/serving-database.ts'
import type { Replicas } from '../postgres/standby/replicas.ts'
import type { Leases } from '../postgres/statement.ts'

/** How long after its arrival a request may still run a lease twice on the last server. */
export const RERUN_WITHIN_MS = 1000

/** Answers a request from one server, with the page memory of that server. */
export type Read = (db: Leases, memory: PageMemory, tokenDigest: Uint8Array) => Promise<Answer>

/**
 * Answers each request from one server: a standby where there are any, or the primary. Each server has a page memory of
 * its own, because standbys differ in what they have replayed.
 */
export class Reading {
  readonly #memories = new Map<ServingDatabase, PageMemory>()

  constructor(
    private readonly primary: ServingDatabase,
    private readonly replicas: Replicas | undefined,
    private readonly counters: Counters,
  ) {}

  /** As ConnectionPool.displace(), for a request with this token, where it would wait for a connection. */
  displace(tokenDigest: Uint8Array): boolean {
    const pool = this.replicas?.candidates(tokenDigest)[0]?.pool ?? this.primary
    return pool.displace(this.#laneOf(pool, tokenDigest))
  }

  /** @throws what `read` throws on the server that answers */
  async answer(request: Requester, tokenDigest: Uint8Array, read: Read): Promise<Answer> {
    const { replicas } = this
    if (!replicas) return await this.#readOn(this.primary, request, tokenDigest, read)
    const started = performance.now()
    const since = () => performance.now() - started
    let hasTried = false
    const inTurn = replicas.candidates(tokenDigest)
    const hasOther = inTurn.length > 1 || !replicas.isPrimaryAway
    for (const standby of inTurn) {
      if (hasTried && since() > replicas.retryMs) break
      try {
        const requester = { signal: request.signal, hasOther }
        const answer = await this.#readOn(standby.pool, requester, tokenDigest, read)
        standby.reads++
        return answer
      } catch (error) {
        // The token may have been issued a moment ago, or ended on the standby alone: the primary knows.
        const isUnknown = error instanceof HttpError && error.httpStatus === 401
        if (!isUnknown && !isTrouble(error)) throw error
        replicas.moved[isUnknown ? 'unknownToken' : 'trouble']++
        hasTried = true
        if (isUnknown) break
      }
    }
    // Two runs on a standby and two here would take longer than a request may.
    const requester = hasTried ? { signal: request.signal, hasOther: since() > RERUN_WITHIN_MS } : request
    const answer = await this.#readOn(this.primary, requester, tokenDigest, read)
    replicas.primaryReads++
    return answer
  }

  async #readOn(
    pool: ServingDatabase,
    requester: Requester,
    tokenDigest: Uint8Array,
    read: Read,
  ): Promise<Answer> {
    const db = pool.forRequest(requester, this.#laneOf(pool, tokenDigest))
    return await read(db, this.#memoryOf(pool), tokenDigest)
  }

  #laneOf(pool: ServingDatabase, tokenDigest: Uint8Array): string | undefined {
    return this.#memoryOf(pool).accessOf(tokenDigest)?.clientId
  }

  #memoryOf(pool: ServingDatabase): PageMemory {
    const known = this.#memories.get(pool)
    if (known) return known
    const memory = new PageMemory(this.counters)
    this.#memories.set(pool, memory)
    return memory
  }
}

/**
 * Whether another server may succeed: the connection was lost, replay cancelled the statement (40001), or a table has not
 * been replayed yet, as after a migration. A server whose connections are all in use works, and the next one would soon
 * be as full.
 */
function isTrouble(error: unknown): boolean {
  if (error instanceof Displaced || error instanceof QueueTimeout) return false
  return error instanceof DatabaseUnavailable || (error instanceof Error && error.name === 'PostgresError')
}
