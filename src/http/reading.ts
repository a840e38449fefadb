import { type Answer, HttpError } from '../answers.ts'
import { PageMemory } from '../assessments/page-memory.ts'
import type { Counters } from '../counters.ts'
import { DatabaseUnavailable, Displaced, QueueTimeout } from '../postgres/failures.ts'
import { mayRepeat, type Requester } from '../postgres/pool/bounds.ts'
import type { ServingDatabase } from '../postgres/pool/serving-database.ts'
import type { Standbys } from '../postgres/standby/standbys.ts'
import type { Leases } from '../postgres/statement.ts'
import { SeenPositions } from './seen-positions.ts'

/** Answers a request from one server, with the page memory of that server. */
export type Read = (db: Leases, memory: PageMemory, tokenDigest: Uint8Array) => Promise<Answer>

/**
 * Answers each request from one server: a standby where there are any, or the primary. Each server has a page memory of
 * its own, because standbys differ in what they have replayed. No token gets older data than this process has read for it.
 */
export class Reading {
  readonly #memories = new Map<ServingDatabase, PageMemory>()
  readonly #seen = new SeenPositions()

  constructor(
    private readonly primary: ServingDatabase,
    private readonly standbys: Standbys | undefined,
    private readonly counters: Counters,
  ) {}

  /** As ConnectionPool.displace(), for a request with this token, where it would wait for a connection. */
  displace(tokenDigest: Uint8Array): boolean {
    const database = this.#firstFor(tokenDigest)
    return database.pool.displace(this.#laneOf(database, tokenDigest))
  }

  /** @throws what `read` throws on the server that answers */
  async answer(
    requester: Requester & { deadline: number },
    tokenDigest: Uint8Array,
    read: Read,
  ): Promise<Answer> {
    const { primary, standbys } = this
    if (!standbys) return await this.#readOn(primary, requester, tokenDigest, read)
    const seen = this.#seen.of(tokenDigest)
    const inTurn = standbys.candidates(tokenDigest)
    for (const standby of inTurn) {
      const isLast = standby === inTurn.at(-1) && standbys.isPrimaryAway
      try {
        // Where another server can be asked, it is asked instead of a repetition.
        const here = { ...requester, attempts: isLast ? 2 : 1 } as const
        const answer = await this.#readOn(standby.database, here, tokenDigest, read)
        if (!isBefore(answer, seen)) {
          standby.reads++
          return this.#noted(tokenDigest, answer, seen)
        }
        standbys.moved.olderData++
      } catch (error) {
        // The token may have been issued a moment ago, or ended on the standby alone: the primary knows.
        const isUnknown = error instanceof HttpError && error.httpStatus === 401
        const isMoved = isTrouble(error) && mayRepeat(requester.deadline, performance.now())
        if (!isUnknown && !isMoved) throw error
        standbys.moved[isUnknown ? 'unknownToken' : 'trouble']++
        if (isMoved) continue
      }
      // The primary has all that is confirmed. While it is away, the next standby may have replayed more.
      if (!standbys.isPrimaryAway) break
    }
    const answer = await this.#readOn(primary, requester, tokenDigest, read)
    standbys.primaryReads++
    return this.#noted(tokenDigest, answer, seen)
  }

  /** @param seen the position that the token had seen when the request came */
  #noted(tokenDigest: Uint8Array, answer: Answer, seen: number | undefined): Answer {
    if (answer.position !== undefined) this.#seen.note(tokenDigest, answer.position, seen)
    return answer
  }

  async #readOn(
    database: ServingDatabase,
    requester: Requester,
    tokenDigest: Uint8Array,
    read: Read,
  ): Promise<Answer> {
    const db = database.forRequest(requester, this.#laneOf(database, tokenDigest))
    return await read(db, this.#memoryOf(database), tokenDigest)
  }

  /** The integration of a token that the first server in turn has seen. */
  clientOf(tokenDigest: Uint8Array): string | undefined {
    return this.#laneOf(this.#firstFor(tokenDigest), tokenDigest)
  }

  #firstFor(tokenDigest: Uint8Array): ServingDatabase {
    return this.standbys?.candidates(tokenDigest)[0]?.database ?? this.primary
  }

  #laneOf(database: ServingDatabase, tokenDigest: Uint8Array): string | undefined {
    return this.#memoryOf(database).accessOf(tokenDigest)?.clientId
  }

  #memoryOf(database: ServingDatabase): PageMemory {
    const known = this.#memories.get(database)
    if (known) return known
    const memory = new PageMemory(this.counters)
    this.#memories.set(database, memory)
    return memory
  }
}

/** Whether an answer was read from older data than the token has seen. */
const isBefore = ({ position }: Answer, seen = 0) => position !== undefined && position < seen

/**
 * Whether another server may succeed: the connection was lost, replay cancelled the statement (40001), or a table has not
 * been replayed yet, as after a migration. A server whose connections are all in use works, and the next one would soon
 * be as full.
 */
function isTrouble(error: unknown): boolean {
  if (error instanceof Displaced || error instanceof QueueTimeout) return false
  return error instanceof DatabaseUnavailable || (error instanceof Error && error.name === 'PostgresError')
}
