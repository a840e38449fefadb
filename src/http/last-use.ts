import { LruCache } from '../lru-cache.ts'
import { noteUse } from '../oauth/tokens.ts'
import type { ServingDatabase } from '../postgres/pool/serving-database.ts'

/** Tokens of which it is remembered when their use was noted. */
const MAX_TOKENS = 1000

const MINUTE_MS = 60_000

/**
 * Notes that tokens are used, each at most once a minute: a write a request would cost more than the request. Nothing
 * is noted while the database is known to be read-only.
 */
export class LastUse {
  private readonly notedAt = new LruCache<number>(MAX_TOKENS)

  constructor(private readonly pool: ServingDatabase) {}

  /** A request with this token was let through. Not awaited: no request depends on it, and the one a minute later writes it again. */
  note(tokenDigest: Buffer): void {
    if (this.pool.availability.isReadOnly) return
    const key = tokenDigest.toString('base64')
    const now = performance.now()
    if (now - (this.notedAt.get(key) ?? Number.NEGATIVE_INFINITY) <= MINUTE_MS) return
    this.notedAt.set(key, now)
    noteUse(this.pool, tokenDigest).catch(() => {})
  }
}
