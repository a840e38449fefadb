import { csvSource } from '../csv.ts'
import type { ImportSource } from '../source-rows.ts'
import { type FeedState, readFeedState, requireQueries, writeFeedState } from './feed-state.ts'
import type { Queries, Query } from './queries.ts'
import { openSnapshot, type Snapshot } from './snapshot.ts'

/** The options of a feed. */
export interface PlatformOptions {
  /** postgres://… of the platform. */
  url: string
  queries: Queries
  /** The name of its state in the database. */
  feed: string
  /** Reads everything, and not only changes since the last success. */
  isFull: boolean
  /** Given by tests only, see openSnapshot(). */
  overlapSeconds?: number
  /** Cancels the running query at once. */
  signal?: AbortSignal
}

/**
 * The queries of a folder as one source: each gives the rows of a type as CSV, all in one snapshot. Parts are apart, as
 * in CSV files, and complete for each assessment.
 */
export function platformSource(options: PlatformOptions): ImportSource {
  const { url, queries, feed, isFull, overlapSeconds, signal } = options
  const files = queries.queries.map(({ file }) => file)
  const digests = Object.fromEntries(queries.queries.map(({ file, digest }) => [file, digest]))
  let state: FeedState | undefined
  /** Why everything is read although there is a state. */
  let why: string | undefined
  let snapshot: Snapshot | undefined
  let isRead = false
  async function* copy(query: Query) {
    yield* (snapshot as Snapshot).copy(query)
  }
  const copied = queries.queries.map(query => ({
    name: query.file,
    type: query.type,
    isQuery: true as const,
    chunks: copy(query),
  }))
  const source = csvSource(copied, 'the platform', queries.others)
  return {
    ...source,
    notes: () => [...(why !== undefined && isRead ? [why] : []), ...source.notes()],
    feed: {
      async readState(sql) {
        state = await readFeedState(sql, feed)
        if (state) requireQueries(feed, state, files)
        why = isFull || state === undefined ? undefined : changeOf(state.queries, digests)
      },
      async writeState(sql, round) {
        const { platform, snapshotAt } = snapshot as Snapshot
        await writeFeedState(sql, feed, { platform, snapshotAt, queries: digests, queryFiles: files }, round)
      },
      isFull: () => snapshot?.since === '-infinity',
      since: () => snapshot?.since,
    },
    async *read(onBytes) {
      const last = isFull || why !== undefined ? undefined : state
      snapshot = await openSnapshot(url, last, overlapSeconds)
      const { close, cancel, platform } = snapshot
      if (last && last.platform !== platform) why = 'all was read: the platform is another database now'
      const onAbort = () => void cancel()
      signal?.addEventListener('abort', onAbort)
      if (signal?.aborted) onAbort()
      try {
        yield* source.read(onBytes)
        isRead = true
      } finally {
        signal?.removeEventListener('abort', onAbort)
        // The platform need not keep a snapshot while the rows are loaded.
        await close()
      }
    },
  }
}

/**
 * Why everything has to be read: a query with another text may give other rows, and other columns of unchanged rows.
 * All queries are read in full, because their rows have to fit together.
 */
function changeOf(before: Record<string, string>, now: Record<string, string>): string | undefined {
  const files = [...new Set([...Object.keys(before), ...Object.keys(now)])]
  const changed = files.filter(file => before[file] !== now[file]).sort()
  if (changed.length === 0) return undefined
  return `all was read: ${changed.join(', ')} ${changed.length === 1 ? 'has' : 'have'} changed since the position of the feed was stored`
}
