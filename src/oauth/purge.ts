import { setTimeout as sleep } from 'node:timers/promises'
import { type SQL, sql } from 'drizzle-orm'
import { integrationSecrets as s, accessTokens as t } from '../../db/schema.ts'
import { Counters } from '../counters.ts'
import { LOCKS } from '../database/locks.ts'
import { type Runner, statement } from '../database/statement.ts'
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
  counters?: Pick<Counters, 'purgedTokens' | 'purgedSecrets'>
  /** Called before each round; a round is skipped if the database is read-only. */
  isReadOnly?: () => Promise<boolean>
  /** For tests. */
  firstDelayMs?: number
  intervalMs?: number
  keptTokens?: number
}

/**
 * Deletes old expired tokens, ended secrets and old disclosures in the background, in small batches with pauses. This only
 * keeps the tables small: the check of a token does not depend on it. Processes take turns batch by batch.
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
  const purged = { tokens: 0, secrets: 0, disclosures: 0 }

  /** Runs batches until one is not full. */
  const inBatches = async (what: 'tokens' | 'disclosures', batch: () => Promise<number>) => {
    while (!isStopped()) {
      const startedAt = performance.now()
      const count = await batch()
      purged[what] += count
      if (count < BATCH) return
      // The purge takes a fifth of a core at most.
      await pause(4 * (performance.now() - startedAt))
    }
  }
  const purgeTokens = async () => {
    const [kept] = await selectKept(db, { tokens: keptTokens, hours: KEPT_HOURS })
    let after: string | undefined
    await inBatches('tokens', async () => {
      const { count, last } = await purgeExpiredTokens(db, BATCH, after, kept?.since)
      after = last
      return count
    })
    if (!isStopped()) await inBatches('tokens', () => purgeTokensOfEndedSecrets(db, BATCH))
    // Its tokens have expired with it, and went in batches: deleting a secret deletes at once those that are left.
    if (!isStopped()) purged.secrets = await purgeEndedSecrets(db)
  }
  const failed = (what: string) => (error: unknown) =>
    log.warn({ code: (error as { code?: string }).code }, `${what} could not be purged; trying again later`)
  const purgeAll = async () => {
    if (await isReadOnly?.()) return
    await purgeTokens().catch(failed('expired tokens'))
    await inBatches('disclosures', () => purgeDisclosures(db)).catch(failed('old disclosures'))
  }
  const running = (async () => {
    for (await pause(firstDelayMs); !isStopped(); await pause(intervalMs)) {
      Object.assign(purged, { tokens: 0, secrets: 0, disclosures: 0 })
      await purgeAll().catch(failed('expired tokens'))
      const { tokens, secrets, disclosures } = purged
      counters.purgedTokens += tokens
      counters.purgedSecrets += secrets
      if (tokens + secrets > 0) log.info({ tokens, secrets }, 'purged expired tokens and ended secrets')
      if (disclosures > 0) log.info({ disclosures }, 'purged disclosures past their retention')
    }
  })()
  return async () => {
    stop.abort()
    await running
  }
}

/** SQL: whether this process acquired the lock of the purge, which it holds to the end of the statement. */
const lock = sql`lock as materialized (select pg_try_advisory_xact_lock(${LOCKS.purge}) as is_acquired)`

/** The expiry from which expired tokens are kept. */
const selectKept = statement<{ tokens: number; hours: number }, { since: string }>(sql`
  select greatest(now() - make_interval(hours => ${sql.placeholder('hours')}), (
    select ${t.expiresAt} from ${t} where ${t.expiresAt} <= now()
    order by ${t.expiresAt} desc offset ${sql.placeholder('tokens')}::bigint - 1 limit 1
  ))::text as since`)

/**
 * Deletes at most `limit` tokens that expired before `keptSince`, the oldest first, none while another process purges;
 * returns the last expiry, `after` of the next batch. Without that, the thousandth batch would take five times the first.
 */
export async function purgeExpiredTokens(
  db: Runner,
  limit: number,
  after = '-infinity',
  keptSince = 'infinity',
): Promise<{ count: number; last: string }> {
  const [row] = await deleteExpired(db, { limit, after, keptSince })
  return { count: row?.count ?? 0, last: row?.last ?? after }
}

/** Deletes tokens whose secret has ended; returns how many. Deletes none while another process purges. */
async function purgeTokensOfEndedSecrets(db: Runner, limit: number): Promise<number> {
  const [row] = await deleteEnded(db, { limit })
  return row?.count ?? 0
}

/** @param which selects the digests of the tokens */
const deleteTokens = <Values extends Record<string, unknown>>(which: SQL) =>
  statement<Values, { count: number; last: string | null }>(sql`
  with ${lock}, deleted as (
    delete from ${t} where (select is_acquired from lock) and ${t.digest} in (${which})
    returning ${t.expiresAt}
  )
  select count(*)::int as count, max(expires_at)::text as last from deleted`)

const deleteExpired = deleteTokens<{ limit: number; after: string; keptSince: string }>(sql`
      select ${t.digest} from ${t}
      where ${t.expiresAt} <= now() and ${t.expiresAt} >= ${sql.placeholder('after')}::text::timestamptz
        and ${t.expiresAt} < ${sql.placeholder('keptSince')}::text::timestamptz
      order by ${t.expiresAt} limit ${sql.placeholder('limit')}`)

const deleteEnded = deleteTokens<{ limit: number }>(sql`
      select ${t.digest} from ${t}
      where ${t.secretId} in (select ${s.id} from ${s} where ${s.expiresAt} <= now())
      limit ${sql.placeholder('limit')}`)

/** Deletes ended secrets with their remaining tokens; returns how many. Deletes none while another process purges. */
export async function purgeEndedSecrets(db: Runner): Promise<number> {
  const [row] = await deleteEndedSecrets(db, {})
  return row?.count ?? 0
}

const deleteEndedSecrets = statement<Record<string, never>, { count: number }>(sql`
  with ${lock}, ended as materialized (
    select count(*)::int as count from ${s} where ${s.expiresAt} <= now() and (select is_acquired from lock)
  )
  select count, case when count > 0 then purge_ended_secrets() end from ended`)
