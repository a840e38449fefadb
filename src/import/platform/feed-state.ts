import type { TransactionSql } from 'postgres'
import { NOBODY } from '../erased.ts'
import { TABLE_OF } from '../record.ts'
import type { Since } from './snapshot.ts'

/** The state of a feed after a successful round; a row of the table feeds. */
export interface FeedState extends Since {
  /** The digest of each query by the name of its file. */
  queries: Record<string, string>
  /** The time of the success, in Unix seconds. */
  succeededAt: number
}

/** The state of a feed; undefined before its first success. */
export async function readFeedState(sql: TransactionSql, feed: string): Promise<FeedState | undefined> {
  const [row] = await sql<{ platform: string; startedAt: string; queries: string; succeededAt: number }[]>`
    select platform, snapshot_at::text as "startedAt", queries::text,
      extract(epoch from succeeded_at)::double precision as "succeededAt"
    from feeds where name = ${feed}`
  return row && { ...row, queries: JSON.parse(row.queries) as Record<string, string> }
}

/**
 * Writes the state for the next round, in the transaction that loads the rows of this one.
 * @param isComparison whether all rows were compared, and those removed that the platform no longer has
 */
export async function writeFeedState(
  sql: TransactionSql,
  feed: string,
  { platform, startedAt, queries }: Omit<FeedState, 'succeededAt'>,
  isComparison: boolean,
): Promise<void> {
  await sql`
    insert into feeds (name, platform, snapshot_at, queries, compared_at)
    values (${feed}, ${platform}, ${startedAt}::text::timestamptz, ${JSON.stringify(queries)}::text::jsonb,
      case when ${isComparison} then clock_timestamp() end)
    on conflict (name) do update set (platform, snapshot_at, queries, succeeded_at, compared_at) =
      (excluded.platform, excluded.snapshot_at, excluded.queries, excluded.succeeded_at,
        coalesce(excluded.compared_at, feeds.compared_at))`
}

const NONE = { unidentified: undefined, lostParts: { records: 0, first: [] } }

/** The result of a round without changes: it creates no temporary tables. */
export function nothingNew() {
  const none = { inserted: 0, updated: 0, unchanged: 0, deleted: 0 }
  const summary = Object.fromEntries(Object.values(TABLE_OF).map(table => [table, none]))
  return {
    loaded: true as const,
    lines: 0,
    rejected: 0,
    reasons: [],
    erased: NOBODY,
    summary,
    ...NONE,
  }
}
