import { csvSource } from '../csv.ts'
import type { RecordSource } from '../record.ts'
import { type Memory, recall, remember } from './memory.ts'
import type { Queries } from './queries.ts'
import { openSnapshot, type Snapshot } from './snapshot.ts'

/** How the platform's database is read. */
export interface PlatformOptions {
  /** postgres://… of the platform. */
  url: string
  queries: Queries
  /** Under which name the database remembers what was read. */
  feed: string
  /** Reads all, and not only what has changed since the last success. */
  isFull: boolean
  /** Seconds before the start of the last snapshot: rows are stamped before they are committed. */
  overlap: number
  /** Lets go of the platform at once. */
  signal?: AbortSignal
}

/**
 * The queries of a folder as one source: each gives the rows of a type as CSV, all in one snapshot. With parts apart, as
 * CSV files have them; the parts of an assessment are all that it has.
 */
export function platformSource(options: PlatformOptions): RecordSource {
  const { url, queries, feed, isFull, overlap, signal } = options
  const digests = Object.fromEntries(queries.queries.map(({ file, digest }) => [file, digest]))
  let memory: Memory | undefined
  /** Why all is read although something is remembered. */
  let why: string | undefined
  let snapshot: Snapshot | undefined
  let isRead = false
  const copied = queries.queries.map(query => ({
    name: query.file,
    type: query.type,
    isQuery: true as const,
    open: () => (snapshot as Snapshot).copy(query),
  }))
  const source = csvSource(copied, 'the platform', queries.others)
  return {
    ...source,
    notes: () => [...(why !== undefined && isRead ? [why] : []), ...source.notes()],
    feed: {
      async recall(sql) {
        memory = await recall(sql, feed)
        why = isFull || memory === undefined ? undefined : changeOf(memory.queries, digests)
      },
      async remember(sql) {
        const { platform, startedAt } = snapshot as Snapshot
        await remember(sql, feed, { platform, startedAt, queries: digests })
      },
      isFull: () => snapshot?.since === '-infinity',
      since: () => snapshot?.since,
      lastSuccess: () => memory?.succeededAt,
    },
    async *read(onBytes) {
      const last = isFull || why !== undefined ? undefined : memory
      snapshot = await openSnapshot(url, last, overlap)
      const { close, giveUp, platform } = snapshot
      if (last && last.platform !== platform) why = 'all was read: the platform is another database now'
      const leave = () => void giveUp()
      signal?.addEventListener('abort', leave)
      if (signal?.aborted) leave()
      try {
        yield* source.read(onBytes)
        isRead = true
      } finally {
        signal?.removeEventListener('abort', leave)
        // The platform keeps no snapshot while the rows are loaded.
        await close()
      }
    },
  }
}

/**
 * Why all has to be read: with another text a query may give rows that it did not give before, and columns of rows that
 * have not changed. All queries, and not that one alone: what one gives has to go with what the others give.
 */
function changeOf(before: Record<string, string>, now: Record<string, string>): string | undefined {
  const files = [...new Set([...Object.keys(before), ...Object.keys(now)])]
  const changed = files.filter(file => before[file] !== now[file]).sort()
  if (changed.length === 0) return undefined
  return `all was read: ${changed.join(', ')} ${changed.length === 1 ? 'has' : 'have'} changed since the last time`
}
