import { type Caller, findCaller, noteUse } from '../oauth/tokens.ts'
import type { Runner } from '../postgres/statement.ts'

/** Tokens that are remembered: a hundred integrations with ten live tokens each. */
const MAX_CALLERS = 1000

const MINUTE_MS = 60_000

/** The callers of the tokens that were seen last. What it says has to be verified: a token may have ended since. */
export class CallerMemory {
  private readonly callers = new Map<string, { caller: Caller; notedAt: number }>()

  /** @param db for what no request waits for */
  constructor(private readonly db: Runner) {}

  /** The caller that was last found behind a token. */
  recall(tokenDigest: Buffer): Caller | undefined {
    const key = keyOf(tokenDigest)
    const known = this.callers.get(key)
    if (!known) return undefined
    this.callers.delete(key)
    this.callers.set(key, known)
    return known.caller
  }

  /** Asks the database, and remembers what it says. */
  async find(db: Runner, tokenDigest: Buffer): Promise<Caller | undefined> {
    const caller = await findCaller(db, tokenDigest)
    if (!caller) return undefined
    const key = keyOf(tokenDigest)
    const notedAt = this.callers.get(key)?.notedAt ?? Number.NEGATIVE_INFINITY
    this.callers.delete(key)
    this.callers.set(key, { caller, notedAt })
    for (const oldest of this.callers.keys()) {
      if (this.callers.size <= MAX_CALLERS) break
      this.callers.delete(oldest)
    }
    return caller
  }

  /**
   * To be called when a request was let through: notes that its token was used, at most once a minute. Not
   * awaited: no request depends on it, and the one a minute later writes it again.
   */
  used(tokenDigest: Buffer): void {
    const known = this.callers.get(keyOf(tokenDigest))
    if (!known || performance.now() - known.notedAt <= MINUTE_MS) return
    known.notedAt = performance.now()
    noteUse(this.db, tokenDigest).catch(() => {})
  }

  forget(tokenDigest: Buffer): void {
    this.callers.delete(keyOf(tokenDigest))
  }
}

const keyOf = (tokenDigest: Buffer) => tokenDigest.toString('base64')
