import { sql } from 'drizzle-orm'
import { HttpError } from '../answers.ts'
import type { ListQuery } from '../contract.ts'
import type { Counters } from '../counters.ts'
import { GRACE_MS, type StateLog } from '../database/bounds.ts'
import { ClientGone, DatabaseUnavailable } from '../database/failures.ts'
import type { ServingDatabase } from '../database/pool.ts'
import { type Runner, rawStatement, text } from '../database/statement.ts'
import { within } from '../timeouts.ts'
import { requireAccess, version } from './access.ts'
import { isRecorded } from './disclosure.ts'
import { type ApiRequest, type Page, type Reader, readPage, readPageBy } from './page.ts'
import { PageMemory } from './page-memory.ts'

/** How old the version of a page may be. */
export const LAG_MS = 10_000

/** For a page of the standby. After that the primary reads it. */
const PATIENCE_MS = 1000

/** Between two questions to a standby that is passed over. */
const PAUSE_MS = 1000

/**
 * A standby that pages are read from. The primary looks up the token first, and says which version the export has. The page is
 * then read in that scope, from one snapshot of the standby. A page of another version than the primary has had in the last
 * ten seconds is discarded, and so is a failure: the primary reads the page, and the standby is passed over until it is well.
 */
export class Standby {
  readonly #memory: PageMemory
  /** The versions that the primary has had, and when it last had each for certain, by performance.now(). */
  readonly #seen = new Map<string, number>()
  #isPassedOver = false
  #isClosed = false

  constructor(
    private readonly primary: Runner,
    private readonly pool: ServingDatabase,
    counters: Counters,
    private readonly log: StateLog,
  ) {
    this.#memory = new PageMemory(counters)
  }

  /** Whether pages are read from it. */
  get isUsed(): boolean {
    return !this.#isPassedOver
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.pool.close()
  }

  /**
   * Reads a page here or at the primary. @param request to the primary, with what is remembered of its lists
   * @throws HttpError 401 or 400, ClientGone, and what the primary throws
   */
  async page(request: ApiRequest, query: ListQuery): Promise<Page> {
    const page = this.#isPassedOver ? undefined : await this.#pageHere(request, query)
    if (page) return page
    const askedAt = performance.now()
    const ofPrimary = await readPage(request, query)
    this.#note(ofPrimary.version, askedAt)
    return ofPrimary
  }

  /** Reads a page; undefined if the primary has to. @throws as page() */
  async #pageHere(request: ApiRequest, query: ListQuery): Promise<Page | undefined> {
    const { db, memory, tokenDigest, bounds } = request
    const askedAt = performance.now()
    const granted = await requireAccess(db, tokenDigest)
    const { access, sets, recording } = granted
    memory.noteAccess(tokenDigest, access)
    this.#note(granted.version, askedAt)
    const deadline = Math.min(bounds.deadline ?? Number.POSITIVE_INFINITY, performance.now() + PATIENCE_MS)
    const reader: Reader = {
      db: this.pool.forRequest({ ...bounds, deadline: deadline + GRACE_MS }, access.clientId),
      memory: this.#memory,
      source: 'scope',
      values: { clientId: access.clientId, recording: isRecorded(recording, access.clientId) },
      scopeOf: async () => ({ access, sets }),
    }
    try {
      const reading = readPageBy(reader, query, { ...bounds, deadline })
      const page = await within(PATIENCE_MS, reading, undefined)
      if (page && this.#isRecent(page.version)) return page
      this.#passOver(page ? BEHIND : SILENT)
    } catch (error) {
      if (error instanceof ClientGone || error instanceof HttpError) throw error
      this.#passOver(error instanceof DatabaseUnavailable ? error.reason : FAILED)
    }
    return undefined
  }

  /** Notes the version that the primary had when it was asked. */
  #note(version: string | null, askedAt: number): void {
    for (const [seen, at] of this.#seen) if (performance.now() - at > LAG_MS) this.#seen.delete(seen)
    if (version !== null) this.#seen.set(version, Math.max(askedAt, this.#seen.get(version) ?? 0))
  }

  #isRecent(version: string | null): boolean {
    const at = version === null ? undefined : this.#seen.get(version)
    return at !== undefined && performance.now() - at <= LAG_MS
  }

  /** Leaves its pages to the primary until it is well again. */
  #passOver(reason: string): void {
    if (this.#isPassedOver) return
    this.#isPassedOver = true
    void this.#awaitRecovery(reason)
  }

  async #awaitRecovery(reason: string): Promise<void> {
    const begun = performance.now()
    let isLogged = false
    for (;;) {
      await Bun.sleep(PAUSE_MS)
      const isWell = await within(PATIENCE_MS, this.#isWell(), false).catch(() => false)
      if (isWell || this.#isClosed) break
      // A page that met a change of the lists says nothing: a second later all is well.
      if (!isLogged) this.log.warn({ reason }, 'the standby is passed over: the primary reads all pages')
      isLogged = true
    }
    this.#isPassedOver = false
    const seconds = Math.round((performance.now() - begun) / 100) / 10
    if (isLogged && !this.#isClosed) this.log.info({ seconds }, 'pages are read from the standby again')
  }

  async #isWell(): Promise<boolean> {
    const askedAt = performance.now()
    const [now, there] = await Promise.all([versionOf(this.primary), versionOf(this.pool)])
    this.#note(now, askedAt)
    return this.#isRecent(there)
  }
}

const BEHIND = 'it has another version of the lists than the primary has had for ten seconds'
const SILENT = 'it does not answer within a second'
const FAILED = 'its statements fail'

const readVersion = rawStatement<Record<string, never>>(sql`select ${version}`)

async function versionOf(db: Runner): Promise<string | null> {
  const [row] = await readVersion(db, {})
  return text(row?.[0])
}
