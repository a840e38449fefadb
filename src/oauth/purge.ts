import { setTimeout as sleep } from 'node:timers/promises'
import type { Counters } from '../counters.ts'
import { purgeDisclosures } from '../postgres/disclosing.ts'
import type { Runner } from '../postgres/statement.ts'
import { purgeEndedSecrets, purgeEndedTokens, purgeExpiredTokens } from './tokens.ts'

const INTERVAL_MS = 60_000
const FIRST_DELAY_MS = 1000

/** Rows that one statement deletes at most. */
const BATCH = 1000

/** The pause after a batch, as a multiple of its duration: the purge takes a fifth of a core at most. */
const PAUSE_FACTOR = 4

interface PurgeOptions {
  log: Record<'info' | 'warn', (details: object, message: string) => void>
  counters?: Pick<Counters, 'purgedTokens' | 'purgedSecrets'>
  /** Called before each round; a round is skipped if the database is read-only. */
  isReadOnly?: () => Promise<boolean>
  /** For tests. */
  firstDelayMs?: number
  intervalMs?: number
}

/**
 * Deletes expired tokens, ended secrets and old disclosures in the background, in small batches with pauses. This only
 * keeps the tables small: the check of a token does not depend on it. Processes take turns batch by batch. Each round that
 * deleted rows is a line in the log.
 * @returns a function that stops the purge, and waits for the batch in progress
 */
export function startPurging(
  db: Runner,
  {
    log,
    counters,
    isReadOnly = async () => false,
    firstDelayMs = FIRST_DELAY_MS,
    intervalMs = INTERVAL_MS,
  }: PurgeOptions,
): () => Promise<void> {
  const stop = new AbortController()
  const isStopped = () => stop.signal.aborted
  const pause = (ms: number) => sleep(ms, undefined, stop).catch(() => {})
  const purged = { tokens: 0, secrets: 0, disclosures: 0 }

  /** Runs batches until one is not full. */
  const inBatches = async (what: 'tokens' | 'disclosures', batch: () => Promise<number>) => {
    while (!isStopped()) {
      const startedAt = performance.now()
      const count = await batch()
      purged[what] += count
      if (count < BATCH) return
      await pause(PAUSE_FACTOR * (performance.now() - startedAt))
    }
  }
  const purgeTokens = async () => {
    // Tokens of ended secrets first, in batches: deleting a secret deletes all of its tokens at once.
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
    await purgeTokens().catch(failed('expired tokens'))
    await inBatches('disclosures', () => purgeDisclosures(db)).catch(failed('old disclosures'))
  }
  const running = (async () => {
    for (await pause(firstDelayMs); !isStopped(); await pause(intervalMs)) {
      Object.assign(purged, { tokens: 0, secrets: 0, disclosures: 0 })
      await purgeAll().catch(failed('expired tokens'))
      const { tokens, secrets, disclosures } = purged
      if (counters) counters.purgedTokens += tokens
      if (counters) counters.purgedSecrets += secrets
      if (tokens + secrets > 0) log.info({ tokens, secrets }, 'purged expired tokens and ended secrets')
      if (disclosures > 0) log.info({ disclosures }, 'purged disclosures past their retention')
    }
  })()
  return async () => {
    stop.abort()
    await running
  }
}
