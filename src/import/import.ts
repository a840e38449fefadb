import type { TransactionSql } from 'postgres'
import { onlyRow } from '../database/statement.ts'
import { type CommandSql, transact } from '../database/transact.ts'
import { requireTriggers } from '../database/triggers.ts'
import { Failure } from '../errors.ts'
import { acquireLoadLock, configureLoad } from '../tables/load-session.ts'
import { check } from './check.ts'
import { nothingNew } from './platform/feed-state.ts'
import { readRejects } from './rejects.ts'
import { countRemovals } from './removals.ts'
import { type ImportOptions, type ImportResult, Undone } from './result.ts'
import type { ImportSource } from './source-rows.ts'
import { stageRows } from './stage.ts'
import { countAtCommit, tidy } from './tidy.ts'
import { type WriteProgress, writeChanges } from './write.ts'

/** The progress of an import. `size` is unknown for the bytes of standard input. */
export type Progress =
  | { phase: 'waiting' }
  | { phase: 'reading'; bytes: number; size: number | undefined; lines: number }
  | { phase: 'queueing' }
  | { phase: 'checking' }
  | WriteProgress
  /** Everything is committed. */
  | { phase: 'committed' }
  /** Tables that have changed much are analyzed. */
  | { phase: 'analyzing' }

/**
 * Loads a source in one transaction, in turn with other imports. A stream takes its turn when it has been read: until then it
 * may say nothing for as long as it likes, and holds up nobody.
 * @throws Failure, also for removals above the limit; as transact()
 */
export async function importSource(
  db: CommandSql,
  source: ImportSource,
  onProgress: (progress: Progress) => void,
  options: ImportOptions = {},
): Promise<ImportResult> {
  const { dryRun = false } = options
  const loading = transact(db, async sql => {
    await configureLoad(sql)
    const takeTurn = async () => {
      await acquireLoadLock(sql, () => onProgress({ phase: 'waiting' }))
      await requireTriggers(sql, 'nothing was loaded')
    }
    const result = await importInto(sql, source, takeTurn, onProgress, options)
    if (!result.loaded || dryRun) throw new Undone(result)
    const isComparison = options.sync !== undefined && result.unidentified === undefined
    await source.feed?.writeState(sql, { isComparison, leftOut: result.rejected })
    // Also without any change; otherwise the import already holds the lock on that row.
    await sql`update export_state set last_import_at = clock_timestamp()`
    await countAtCommit(sql)
    return result
  })
  try {
    const result = await loading
    onProgress({ phase: 'committed' })
    const remains = await tidy(db, () => onProgress({ phase: 'analyzing' }))
    return { ...result, ...(remains !== undefined && { remains }) }
  } catch (error) {
    if (error instanceof Undone) return error.result
    throw error
  }
}

async function importInto(
  sql: TransactionSql,
  source: ImportSource,
  takeTurn: () => Promise<void>,
  onProgress: (progress: Progress) => void,
  options: ImportOptions,
): Promise<ImportResult> {
  const { onReject, sync } = options
  const { feed, isStream } = source
  if (!isStream) await takeTurn()
  await feed?.readState(sql)
  const staged = await stageRows(sql, source, onReject !== undefined, (lines, bytes) =>
    onProgress({ phase: 'reading', bytes, size: source.size, lines }),
  )
  const { lines } = staged
  if (lines === 0 && feed && !feed.isFull()) return nothingNew()
  if (lines === 0) throw new Failure(`nothing was loaded: there are no rows in ${source.name}`)
  const cutOff = sync && source.cutOff()
  if (cutOff) throw new Failure(`nothing was loaded: --sync would remove what was cut off, and ${cutOff}`)
  if (isStream) await takeTurn()
  onProgress({ phase: 'queueing' })
  await lockOutWriters(sql)
  onProgress({ phase: 'checking' })
  const comparison = await check(sql, source, staged, options)
  if (onReject) for await (const reject of readRejects(sql, source)) await onReject(reject)
  await writeChanges(sql, comparison.summary, onProgress)
  await countRemovals(sql, comparison.summary)
  return { loaded: true, lines, ...comparison }
}

/**
 * From here on other writers of the source tables wait: what is compared stays true until the commit. Their sessions see in
 * pg_stat_activity for what they wait, by the name of this one, whose pid is in pg_blocking_pids().
 * @throws Failure if the time zone has changed since the first line was staged: days without a time are staged as instants
 */
async function lockOutWriters(sql: TransactionSql): Promise<void> {
  await sql`select lock_export(), set_config('application_name', 'axport import, for which writers wait', true)`
  const { isSame } = onlyRow(
    await sql<{ isSame: boolean }[]>`
      select time_zone = current_setting('TimeZone') as "isSame" from export_state`,
  )
  if (!isSame)
    throw new Failure(
      'nothing was loaded: the time zone was changed while the source was read: run the same command again',
    )
}
