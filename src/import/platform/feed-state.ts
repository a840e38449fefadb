import type { TransactionSql } from 'postgres'
import { NOTHING_LEFT_OUT } from '../erased.ts'
import { type Round, TABLE_OF } from '../source-rows.ts'
import type { FeedPosition } from './snapshot.ts'

/** The position of a feed after a round in which nothing was left out; a row of the table feeds. */
export interface FeedState extends FeedPosition {
  /** The digest of each query by the name of its file. */
  queries: Record<string, string>
}

/** The position of a feed; undefined before its first round. */
export async function readFeedState(sql: TransactionSql, feed: string): Promise<FeedState | undefined> {
  const [row] = await sql<{ platform: string; snapshotAt: string; queries: string }[]>`
    select platform, snapshot_at::text as "snapshotAt", queries::text from feeds where name = ${feed}`
  return row && { ...row, queries: JSON.parse(row.queries) as Record<string, string> }
}

/**
 * Writes the row of a feed in the transaction that loads the rows of its round. If some were left out, the position stays,
 * so that the next round reads them again; a feed without a position reads everything.
 */
export async function writeFeedState(
  sql: TransactionSql,
  feed: string,
  { platform, snapshotAt, queries }: FeedState,
  { isComparison, leftOut }: Round,
): Promise<void> {
  await sql`
    insert into feeds as f (name, platform, snapshot_at, queries, left_out, compared_at)
    values (${feed}, ${platform}, ${leftOut > 0 ? '-infinity' : snapshotAt}::text::timestamptz,
      ${JSON.stringify(queries)}::text::jsonb, ${leftOut}, case when ${isComparison} then clock_timestamp() end)
    on conflict (name) do update set
      (succeeded_at, left_out, compared_at) =
        (excluded.succeeded_at, excluded.left_out, coalesce(excluded.compared_at, f.compared_at))`
  if (leftOut === 0)
    await sql`
      update feeds set platform = ${platform}, snapshot_at = ${snapshotAt}::text::timestamptz,
        queries = ${JSON.stringify(queries)}::text::jsonb
      where name = ${feed}`
}

/** The result of a round without changes: it creates no temporary tables. */
export function nothingNew() {
  const none = { inserted: 0, updated: 0, unchanged: 0, deleted: 0 }
  const summary = Object.fromEntries(Object.values(TABLE_OF).map(table => [table, none]))
  return {
    loaded: true as const,
    lines: 0,
    rejected: 0,
    reasons: [],
    erased: NOTHING_LEFT_OUT,
    summary,
    unidentified: undefined,
    firstRejected: [],
    lostParts: { records: 0, first: [] },
  }
}
