import { sql } from 'drizzle-orm'
import { accessTokens as t } from '../../db/schema.ts'
import { LOCKS } from '../database/advisory-locks.ts'
import { onlyRow, type Runner, statement } from '../database/statement.ts'

/** Rows that one statement deletes at most, as purge_disclosures() does: fewer are the last ones. */
export const PURGE_BATCH = 1000

/**
 * Expired tokens are kept for so long, and so many of them at most, so that a request with one can be named. A job that
 * keeps its token for the next night is found. A client that gets a token for each request must not fill the disk.
 */
const KEPT_HOURS = 24
const KEPT_TOKENS = 100_000

/** Deletes the oldest expired tokens, `limit` at most, and none while another process purges; returns how many. */
export async function purgeTokens(
  db: Runner,
  { limit = PURGE_BATCH, keptTokens = KEPT_TOKENS }: { limit?: number; keptTokens?: number } = {},
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
