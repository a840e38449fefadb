import { LRUCache } from 'lru-cache'
import type { Runner } from '../database/statement.ts'
import type { Writes } from '../database/writes.ts'
import { noteUse } from '../oauth/tokens.ts'

type Database = Runner & { writes: Pick<Writes, 'isReadOnly'> }

const MINUTE_MS = 60_000
const MAX_TOKENS = 1000

/**
 * Notes that tokens are used, each at most once a minute: a write costs more than a page. No request waits for a note, and
 * none is written to a database known to be read-only.
 */
export class LastUse {
  /** Tokens that were noted in the last minute. */
  private readonly noted = new LRUCache<string, true>({ max: MAX_TOKENS, ttl: MINUTE_MS })

  constructor(private readonly database: Database) {}

  /** A note that fails is written again with the next use, a minute later. */
  note(tokenDigest: string): void {
    if (this.database.writes.isReadOnly) return
    if (this.noted.get(tokenDigest)) return
    this.noted.set(tokenDigest, true)
    noteUse(this.database, { token: tokenDigest }).catch(() => {})
  }
}
