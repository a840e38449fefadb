import type { Sql, TransactionSql } from 'postgres'
import { type CommandSql, transact } from '../database/transact.ts'
import { Failure } from '../errors.ts'
import { acquireLoadLock, configureLoad, requireTriggers } from '../tables/load-session.ts'
import { vacuum } from '../tables/vacuum.ts'
import { type ApplyProgress, applyStaging } from './apply.ts'
import { compareBehindWriters } from './behind-writers.ts'
import { compare } from './compare.ts'
import { nothingNew } from './platform/feed-state.ts'
import type { RecordSource } from './record.ts'
import { readRejects } from './rejects.ts'
import { type ImportOptions, type ImportResult, Undone } from './result.ts'
import { stageRecords } from './staging.ts'
import { isVacuumed } from './vacuumed.ts'

/** The progress of an import. `size` is unknown for the bytes of standard input. */
export type Progress =
  | { phase: 'waiting' }
  | { phase: 'reading'; bytes: number; size: number | undefined; lines: number }
  | { phase: 'checking' }
  | ApplyProgress
  /** Everything is committed; VACUUM makes reading fast. */
  | { phase: 'tidying' }

/**
 * Loads a source in one transaction, in turn with other imports.
 * @throws Failure, also for removals above the limit; as transact()
 */
export async function importSource(
  db: CommandSql,
  source: RecordSource,
  onProgress: (progress: Progress) => void,
  options: ImportOptions = {},
): Promise<ImportResult> {
  const { dryRun = false } = options
  const loading = transact(db, async sql => {
    await acquireLoadLock(sql, () => onProgress({ phase: 'waiting' }))
    await requireTriggers(sql, 'nothing was loaded')
    await configureLoad(sql)
    await source.feed?.readState(sql)
    const result = await importInto(sql, source, onProgress, options)
    if (!result.loaded || dryRun) throw new Undone(result)
    const isComparison = options.sync !== undefined && result.unidentified === undefined
    await source.feed?.writeState(sql, { isComparison, leftOut: result.rejected })
    // Also without any change; otherwise the import already holds the lock on that row.
    await sql`update export_state set last_import_at = clock_timestamp()`
    return result
  })
  try {
    const result = await loading
    onProgress({ phase: 'tidying' })
    const remains = await vacuumChanged(db, source, result)
    return { ...result, ...(remains !== undefined && { remains }) }
  } catch (error) {
    if (error instanceof Undone) return error.result
    throw error
  }
}

async function importInto(
  sql: TransactionSql,
  source: RecordSource,
  onProgress: (progress: Progress) => void,
  options: ImportOptions,
): Promise<ImportResult> {
  const { onReject, sync } = options
  const { feed } = source
  const staged = await stageRecords(sql, source, onReject !== undefined, (lines, bytes) =>
    onProgress({ phase: 'reading', bytes, size: source.size, lines }),
  )
  const { lines } = staged
  if (lines === 0 && feed && !feed.isFull()) return nothingNew()
  if (lines === 0) throw new Failure(`nothing was loaded: there is no record in ${source.name}`)
  const cutOff = sync && source.cutOff()
  if (cutOff) throw new Failure(`nothing was loaded: --sync would remove what was cut off, and ${cutOff}`)
  onProgress({ phase: 'checking' })
  const comparison = await compareBehindWriters(sql, sql => compare(sql, source, staged, options))
  if (onReject) for await (const reject of readRejects(sql, source)) await onReject(reject)
  await applyStaging(sql, comparison.summary, onProgress)
  return { loaded: true, lines, ...comparison }
}

/** A round of a feed changes few rows, for which autovacuum is enough. */
async function vacuumChanged(db: Sql, { feed }: RecordSource, result: ImportResult & { loaded: true }) {
  const changed = Object.entries(result.summary)
    .filter(([, { inserted, updated, deleted }]) => inserted + updated + deleted > 0)
    .map(([table]) => table)
  if (changed.length === 0) return undefined
  // A rename changes records, too.
  changed.push('export_records', 'export_people', 'export_products', 'export_counts')
  const isRound = feed !== undefined && !feed.isFull()
  return await vacuum(db, changed, async () => !isRound || !(await isVacuumed(db)))
}
