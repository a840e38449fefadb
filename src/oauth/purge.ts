import type { Counters } from '../counters.ts'
import type { Runner } from '../postgres/statement.ts'
import { purgeEndedSecrets, purgeEndedTokens, purgeExpiredTokens } from './tokens.ts'

/** How often expired tokens are looked for, how soon after the start, and how many are deleted at once. */
const INTERVAL = 60_000
const FIRST = 1000
const BATCH = 1000

/** A pause after each batch, in times of what the batch took: the purge never takes more than a fifth of a core. */
const PAUSE = 4

interface PurgeOptions {
  log: {
    info(details: object, message: string): void
    warn(details: object, message: string): void
  }
  counters?: Pick<Counters, 'purgedTokens' | 'purgedSecrets'>
  /** Milliseconds; for tests. */
  first?: number
  interval?: number
}

/** What a round of the purge has deleted so far. */
interface Purged {
  tokens: number
  secrets: number
}

/**
 * Deletes expired tokens and ended secrets in the background, in small batches with pauses between them,
 * until the returned function is called; that one waits for the batch under way. They are not accepted any
 * more long before: this only keeps the tables small. Processes take turns, batch by batch. Each round that
 * deleted anything is a line in the log.
 */
export function startPurging(
  db: Runner,
  { log, counters, first = FIRST, interval = INTERVAL }: PurgeOptions,
): () => Promise<void> {
  const stopped = Promise.withResolvers<void>()
  let isStopped = false
  /** Ends early when purging is stopped. */
  const pause = async (milliseconds: number) => {
    let timer: Timer | undefined
    const slept = new Promise<void>(resolve => {
      timer = setTimeout(resolve, milliseconds)
    })
    await Promise.race([slept, stopped.promise])
    clearTimeout(timer)
  }
  const running = (async () => {
    await pause(first)
    while (!isStopped) {
      const purged: Purged = { tokens: 0, secrets: 0 }
      try {
        await purge(db, purged, pause, () => isStopped)
      } catch (error) {
        log.warn(
          { code: (error as { code?: string }).code },
          'expired tokens could not be purged; trying again later',
        )
      }
      if (counters) {
        counters.purgedTokens += purged.tokens
        counters.purgedSecrets += purged.secrets
      }
      if (purged.tokens + purged.secrets > 0)
        log.info({ ...purged }, 'purged expired tokens and ended secrets')
      await pause(interval)
    }
  })()
  return async () => {
    isStopped = true
    stopped.resolve()
    await running
  }
}

async function purge(
  db: Runner,
  purged: Purged,
  pause: (milliseconds: number) => Promise<void>,
  isStopped: () => boolean,
): Promise<void> {
  /** Runs batches until one is not full. */
  const inBatches = async (batch: () => Promise<number>) => {
    while (!isStopped()) {
      const start = performance.now()
      const count = await batch()
      purged.tokens += count
      if (count < BATCH) return
      await pause(PAUSE * (performance.now() - start))
    }
  }
  // First their tokens, batch by batch: the secret would take all of them with it at once.
  await inBatches(() => purgeEndedTokens(db, BATCH))
  if (!isStopped()) purged.secrets += await purgeEndedSecrets(db)
  let after: string | undefined
  await inBatches(async () => {
    const { count, last } = await purgeExpiredTokens(db, BATCH, after)
    after = last
    return count
  })
}
