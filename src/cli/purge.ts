import { setTimeout as sleep } from 'node:timers/promises'
import { Counters } from '../counters.ts'
import type { Runner } from '../database/statement.ts'
import { PURGE_BATCH, purgeTokens } from '../oauth/purge-tokens.ts'
import { purgeDisclosures } from '../tables/disclosure-state.ts'

interface PurgeOptions {
  log: Record<'info' | 'warn', (details: object, message: string) => void>
  counters?: Pick<Counters, 'purgedTokens'>
  /** Asked before each round: nothing is deleted from a read-only database. */
  isReadOnly?: () => Promise<boolean>
  /** For tests. */
  firstDelayMs?: number
  intervalMs?: number
  keptTokens?: number
}

/**
 * Deletes old expired tokens and old disclosures in the background, in small batches with pauses. This only keeps the
 * tables small: the check of a token does not depend on it. Processes take turns batch by batch.
 * @returns a function that stops the purge, and waits for the batch in progress
 */
export function startPurging(
  db: Runner,
  { log, counters = new Counters(), isReadOnly, ...options }: PurgeOptions,
): () => Promise<void> {
  const { firstDelayMs = 1000, intervalMs = 60_000, ...kept } = options
  const stop = new AbortController()
  const isStopped = () => stop.signal.aborted
  const pause = (ms: number) => sleep(ms, undefined, stop).catch(() => {})

  /** Runs batches until one is not full; returns how many rows they have deleted. */
  const inBatches = async (what: string, batch: () => Promise<number>) => {
    let purged = 0
    try {
      while (!isStopped()) {
        const startedAt = performance.now()
        const count = await batch()
        purged += count
        if (count < PURGE_BATCH) break
        // The purge takes a fifth of a core at most.
        await pause(4 * (performance.now() - startedAt))
      }
    } catch (error) {
      failed(what, error)
    }
    return purged
  }
  const failed = (what: string, error: unknown) =>
    log.warn({ code: (error as { code?: string }).code }, `${what} could not be purged; trying again later`)
  const purge = async () => {
    if (await isReadOnly?.()) return
    const tokens = await inBatches('expired tokens', () => purgeTokens(db, kept))
    counters.purgedTokens += tokens
    if (tokens > 0) log.info({ tokens }, 'purged expired tokens')
    const disclosures = await inBatches('old disclosures', () => purgeDisclosures(db))
    if (disclosures > 0) log.info({ disclosures }, 'purged disclosures past their retention')
  }
  const running = (async () => {
    for (await pause(firstDelayMs); !isStopped(); await pause(intervalMs))
      await purge().catch(error => failed('expired tokens', error))
  })()
  return async () => {
    stop.abort()
    await running
  }
}
