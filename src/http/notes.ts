import { LRUCache } from 'lru-cache'
import { addRefusals } from '../integrations/refusals.ts'
import { noteUse } from '../oauth/tokens.ts'
import type { Writes } from '../postgres/pool/writes.ts'
import type { Runner } from '../postgres/statement.ts'

/** Notes about integrations for operators, each written at most once a minute: a write costs more than a page. */

type Database = Runner & { writes: Pick<Writes, 'isReadOnly'> }

const MINUTE_MS = 60_000
const MAX_TOKENS = 1000

/** Notes that tokens are used. No request waits for a note, and none is written to a database known to be read-only. */
export class LastUse {
  /** Tokens that were noted in the last minute. */
  private readonly noted = new LRUCache<string, true>({ max: MAX_TOKENS, ttl: MINUTE_MS })

  constructor(private readonly database: Database) {}

  /** A note that fails is written again with the next use, a minute later. */
  note(tokenDigest: Buffer): void {
    if (this.database.writes.isReadOnly) return
    const key = tokenDigest.toString('base64')
    if (this.noted.get(key)) return
    this.noted.set(key, true)
    noteUse(this.database, { token_digest: tokenDigest }).catch(() => {})
  }
}

/** Counts the refusals of integrations. Clients are known ones and the texts are ours, so what waits is small. */
export class RefusalNotes {
  /** What is to be written, by client id; empty for a client that was written for in the last minute. */
  private readonly waiting = new Map<string, Map<string, number>>()

  constructor(
    private readonly database: Database,
    private readonly pauseMs = MINUTE_MS,
  ) {}

  note(clientId: string, refusals: readonly string[]): void {
    const waiting = this.waiting.get(clientId)
    const counts = waiting ?? new Map<string, number>()
    for (const what of refusals) counts.set(what, (counts.get(what) ?? 0) + 1)
    if (!waiting) this.write(clientId, counts)
  }

  /** Not awaited: no request depends on it, and counts that cannot be written are lost. */
  private write(clientId: string, counts: Map<string, number>): void {
    if (!this.database.writes.isReadOnly) addRefusals(this.database, clientId, counts).catch(() => {})
    const more = new Map<string, number>()
    this.waiting.set(clientId, more)
    const afterPause = () => {
      if (more.size > 0) this.write(clientId, more)
      else this.waiting.delete(clientId)
    }
    setTimeout(afterPause, this.pauseMs).unref()
  }
}
