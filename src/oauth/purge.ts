import type { Sql } from 'postgres'
import { purgeEndedSecrets, purgeExpiredTokens } from './tokens.ts'

/** How often expired tokens are looked for, and how many are deleted at once. */
const INTERVAL = 60_000
const BATCH = 1000

/**
 * Deletes expired tokens and ended secrets in the background, in small batches, until the returned function is
 * called. They are not accepted any more long before: this only keeps the tables small.
 */
export function startPurging(db: Sql, log: { warn(object: object, message: string): void }): () => void {
  const timer = setInterval(async () => {
    try {
      await purgeEndedSecrets(db)
      while ((await purgeExpiredTokens(db, BATCH)) === BATCH);
    } catch (error) {
      log.warn(
        { code: (error as { code?: string }).code },
        'expired tokens could not be purged; trying again later',
      )
    }
  }, INTERVAL)
  return () => clearInterval(timer)
}
