import type { TransactionSql } from 'postgres'
import type { Since } from './snapshot.ts'

/** What a feed remembers between two rounds; a row of the table feeds. */
export interface Memory extends Since {
  /** The digest of each query by the name of its file. */
  queries: Record<string, string>
  /** When that was written, in Unix seconds. */
  succeededAt: number
}

/** What the last success of a feed has left; undefined before the first. */
export async function recall(sql: TransactionSql, feed: string): Promise<Memory | undefined> {
  const [row] = await sql<{ platform: string; startedAt: string; queries: string; succeededAt: number }[]>`
    select platform, snapshot_at::text as "startedAt", queries::text,
      extract(epoch from succeeded_at)::double precision as "succeededAt"
    from feeds where name = ${feed}`
  return row && { ...row, queries: JSON.parse(row.queries) as Record<string, string> }
}

/** Writes what the next round is to know, in the transaction that loads what this one has read. */
export async function remember(
  sql: TransactionSql,
  feed: string,
  { platform, startedAt, queries }: Omit<Memory, 'succeededAt'>,
): Promise<void> {
  await sql`
    insert into feeds (name, platform, snapshot_at, queries)
    values (${feed}, ${platform}, ${startedAt}::text::timestamptz, ${JSON.stringify(queries)}::text::jsonb)
    on conflict (name) do update set (platform, snapshot_at, queries, succeeded_at) =
      (excluded.platform, excluded.snapshot_at, excluded.queries, excluded.succeeded_at)`
}
