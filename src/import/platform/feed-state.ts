import type { TransactionSql } from 'postgres'
import { Failure } from '../../errors.ts'
import { NOTHING_LEFT_OUT } from '../erased.ts'
import { type Round, TABLE_OF } from '../source-rows.ts'
import type { FeedPosition } from './snapshot.ts'

/** What a feed knows of its rounds; a row of the table feeds. The position is that of a round in which nothing was left out. */
export interface FeedState extends FeedPosition {
  /** The digest of each query by the name of its file. */
  queries: Record<string, string>
  /** The files of all queries that it has ever read. */
  queryFiles: string[]
}

/** The state of a feed; undefined before its first round. */
export async function readFeedState(sql: TransactionSql, feed: string): Promise<FeedState | undefined> {
  const [row] = await sql<(Omit<FeedState, 'queries'> & { queries: string })[]>`
    select platform, snapshot_at::text as "snapshotAt", queries::text, query_files as "queryFiles"
    from feeds where name = ${feed}`
  return row && { ...row, queries: JSON.parse(row.queries) as Record<string, string> }
}

/**
 * Writes the row of a feed in the transaction that loads the rows of its round. If some were left out, the position stays,
 * so that the next round reads them again; a feed without a position reads everything.
 */
export async function writeFeedState(
  sql: TransactionSql,
  feed: string,
  { platform, snapshotAt, queries, queryFiles }: FeedState,
  { isComparison, leftOut }: Round,
): Promise<void> {
  await sql`
    insert into feeds as f (name, platform, snapshot_at, queries, query_files, left_out, compared_at)
    values (${feed}, ${platform}, ${leftOut > 0 ? '-infinity' : snapshotAt}::text::timestamptz,
      ${JSON.stringify(queries)}::text::jsonb, ${queryFiles}::text[], ${leftOut}, case when ${isComparison} then clock_timestamp() end)
    on conflict (name) do update set
      (query_files, succeeded_at, left_out, compared_at) =
        (excluded.query_files, excluded.succeeded_at, excluded.left_out, coalesce(excluded.compared_at, f.compared_at))`
  if (leftOut === 0)
    await sql`
      update feeds set platform = ${platform}, snapshot_at = ${snapshotAt}::text::timestamptz,
        queries = ${JSON.stringify(queries)}::text::jsonb
      where name = ${feed}`
}

/**
 * Refuses a round that reads less than the feed once read: it would compare less, and report a comparison.
 * @throws Failure that names the files, and how to go on without them
 */
export function requireQueries(feed: string, { queryFiles }: FeedState, now: string[]): void {
  const missing = queryFiles.filter(file => !now.includes(file))
  if (missing.length === 0) return
  const [are, them] = missing.length === 1 ? ['is', 'it'] : ['are', 'them']
  throw new Failure(
    `nothing was loaded: ${missing.join(', ')} ${are} missing, and the feed ${feed} has read ${them} before: put ${them} back; to go on without ${them}, and leave the rows as they are: update feeds set query_files = '{${now}}' where name = '${feed}'`,
  )
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
