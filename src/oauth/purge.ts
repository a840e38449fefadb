import { setTimeout as sleep } from 'node:timers/promises'
import type { Counters } from '../counters.ts'
import { purgeDisclosures } from '../postgres/disclosing.ts'
import type { Runner } from '../postgres/statement.ts'
import { purgeEndedSecrets, purgeEndedTokens, purgeExpiredTokens } from './tokens.ts'

/** How often expired tokens are looked for, how soon after the start, and how many are deleted at once. */
const INTERVAL = 60_000
const FIRST = 1000
const BATCH = 1000

/** A pause after each batch, in times of what the batch took: the purge never takes more than a fifth of a core. */
const PAUSE = 4

interface PurgeOptions {
  log: Record<'info' | 'warn', (details: object, message: string) => void>
  counters?: Pick<Counters, 'purgedTokens' | 'purgedSecrets'>
  /** Asked before each round: nothing is purged where it says so. */
  isReadOnly?: () => Promise<boolean>
  /** Milliseconds; for tests. */
  first?: number
  interval?: number
}

/**
 * Deletes expired tokens, ended secrets, and disclosures that are older than they are kept, in the background, in small
 * batches with pauses between them, until the returned function is called; that one waits for the batch under way.
 * Nobody is let in by the tokens any more: this only keeps the tables small. Processes take turns, batch by batch. Each
 * round that deleted anything is a line in the log.
 */
export function startPurging(
  db: Runner,
  { log, counters, isReadOnly = async () => false, first = FIRST, interval = INTERVAL }: PurgeOptions,
): () => Promise<void> {
  const stop = new AbortController()
  const isStopped = () => stop.signal.aborted
  /** Ends early when purging is stopped. */
  const pause = (milliseconds: number) => sleep(milliseconds, undefined, stop).catch(() => {})
  const purged = { tokens: 0, secrets: 0, disclosures: 0 }

  /** Runs batches until one is not full. */
  const inBatches = async (of: 'tokens' | 'disclosures', batch: () => Promise<number>) => {
    while (!isStopped()) {
      const start = performance.now()
      const count = await batch()
      purged[of] += count
      if (count < BATCH) return
      await pause(PAUSE * (performance.now() - start))
    }
  }
  const purge = async () => {
    // First their tokens, batch by batch: the secret would take all of them with it at once.
    await inBatches('tokens', () => purgeEndedTokens(db, BATCH))
    if (!isStopped()) purged.secrets = await purgeEndedSecrets(db)
    let after: string | undefined
    await inBatches('tokens', async () => {
      const { count, last } = await purgeExpiredTokens(db, BATCH, after)
      after = last
      return count
    })
  }
  const failed = (what: string) => (error: unknown) =>
    log.warn({ code: (error as { code?: string }).code }, `${what} could not be purged; trying again later`)
  const purgeAll = async () => {
    if (await isReadOnly()) return
    await purge().catch(failed('expired tokens'))
    await inBatches('disclosures', () => purgeDisclosures(db)).catch(failed('old disclosures'))
  }
  const running = (async () => {
    for (await pause(first); !isStopped(); await pause(interval)) {
      Object.assign(purged, { tokens: 0, secrets: 0, disclosures: 0 })
      await purgeAll().catch(failed('expired tokens'))
      const { disclosures, ...ended } = purged
      if (counters) counters.purgedTokens += purged.tokens
      if (counters) counters.purgedSecrets += purged.secrets
      if (purged.tokens + purged.secrets > 0) log.info(ended, 'purged expired tokens and ended secrets')
      if (disclosures > 0)
        log.info({ disclosures }, 'purged disclosures that are older than they are to be kept')
    }
  })()
  return async () => {
    stop.abort()
    await running
  }
}
