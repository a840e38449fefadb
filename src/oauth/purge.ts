import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { accessTokens as t } from '../../db/schema.ts'
import { Counters } from '../counters.ts'
import { LOCKS } from '../database/locks.ts'
import { onlyRow, type Runner, statement } from '../database/statement.ts'
import { purgeDisclosures } from '../tables/disclosing.ts'

/** Rows that one statement deletes at most. */
const BATCH = 1000

/**
 * Expired tokens are kept for so long, and so many of them at most, so that a request with one can be named. A job that
 * keeps its token for the next night is found. A client that gets a token for each request must not fill the disk.
 */
const KEPT_HOURS = 24
const KEPT_TOKENS = 100_000

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
  const { firstDelayMs = 1000, intervalMs = 60_000, keptTokens = KEPT_TOKENS } = options
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
        if (count < BATCH) break
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
    const tokens = await inBatches('expired tokens', () => purgeTokens(db, { keptTokens }))
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

/** Deletes the oldest expired tokens, `limit` at most, and none while another process purges; returns how many. */
export async function purgeTokens(
  db: Runner,
  { limit = BATCH, keptTokens = KEPT_TOKENS }: { limit?: number; keptTokens?: number } = {},
): Promise<number> {
  return onlyRow(await deleteTokens(db, { limit, kept: keptTokens, hours: KEPT_HOURS })).count
}

const deleteTokens = statement<{ limit: number; kept: number; hours: number }, { count: number }>(sql`
  with turn as materialized (select pg_try_advisory_xact_lock(${LOCKS.purge}) as is_ours),
  deleted as (
    delete from ${t} where (select is_ours from turn) and ${t.digest} in (
      select ${t.digest} from ${t}
      where ${t.expiresAt} <= greatest(now() - make_interval(hours => ${sql.placeholder('hours')}), (
        select ${t.expiresAt} from ${t} where ${t.expiresAt} <= now()
        order by ${t.expiresAt} desc offset ${sql.placeholder('kept')} limit 1
      ))
      order by ${t.expiresAt} limit ${sql.placeholder('limit')}
    )
    returning 1
  )
  select count(*)::int as count from deleted`)
