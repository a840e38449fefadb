import type { Runner } from '../postgres/statement.ts'
import { purgeEndedSecrets, purgeExpiredTokens } from './tokens.ts'

/** How often expired tokens are looked for, how soon after the start, and how many are deleted at once. */
const INTERVAL = 60_000
const FIRST = 1000
const BATCH = 1000

/** A pause after each batch, in times of what the batch took: the purge never takes more than a fifth of a core. */
const PAUSE = 4

interface PurgeOptions {
  log: { warn(object: object, message: string): void }
  /** Milliseconds; for tests. */
  first?: number
  interval?: number
}

/**
 * Deletes expired tokens and ended secrets in the background, in small batches with pauses between them,
 * until the returned function is called; that one waits for the batch under way. They are not accepted any
 * more long before: this only keeps the tables small. Processes take turns, batch by batch.
 */
export function startPurging(
  db: Runner,
  { log, first = FIRST, interval = INTERVAL }: PurgeOptions,
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
      try {
        await purgeEndedSecrets(db)
        await purgeTokens(db, pause, () => isStopped)
      } catch (error) {
        log.warn(
          { code: (error as { code?: string }).code },
          'expired tokens could not be purged; trying again later',
        )
      }
      await pause(interval)
    }
  })()
  return async () => {
    isStopped = true
    stopped.resolve()
    await running
  }
}

async function purgeTokens(
  db: Runner,
  pause: (milliseconds: number) => Promise<void>,
  isStopped: () => boolean,
): Promise<void> {
  let after: string | undefined
  while (!isStopped()) {
    const start = performance.now()
    const { count, last } = await purgeExpiredTokens(db, BATCH, after)
    if (count < BATCH) return
    after = last
    await pause(PAUSE * (performance.now() - start))
  }
}
