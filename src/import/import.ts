import type { Sql, TransactionSql } from 'postgres'
import { Failure } from '../errors.ts'
import { acquireLoadLock, configureLoad, requireTriggers } from '../postgres/schema/load-session.ts'
import { type ApplyProgress, applyStaging } from './apply.ts'
import { exceeds, findChanges, type Limit, type Summary, summarize } from './changes.ts'
import { problems } from './checks.ts'
import type { LeftOut } from './erased.ts'
import { isVacuumed } from './platform/feed.ts'
import { nothingNew } from './platform/feed-state.ts'
import { prepareStaging } from './prepare.ts'
import { type Place, placeIn, placeOf, type RecordSource } from './record.ts'
import { countRejects, firstProblems, type Problem, type Reject, readRejects, rejectRows } from './rejects.ts'
import { stageRecords } from './staging.ts'

/** The progress of an import. `size` is unknown for the bytes of standard input. */
export type Progress =
  | { phase: 'waiting' }
  | { phase: 'reading'; bytes: number; size: number | undefined; lines: number }
  | { phase: 'checking' }
  | ApplyProgress
  /** Everything is committed; VACUUM makes reading fast. */
  | { phase: 'tidying' }

/** Options of an import; without them it loads the whole source, or nothing. */
export interface ImportOptions {
  /** Everything but the commit. */
  dryRun?: boolean
  /** Takes each bad record; the others are loaded. */
  onReject?: (reject: Reject) => Promise<void> | void
  /** The most records that may be left out; 1 % by default. A share always allows ten. */
  maxRejected?: Limit
  /** Removes everything that the source does not contain, up to this limit. */
  sync?: Limit
  /** Ends the import and leaves the database as it was. */
  signal?: AbortSignal
}

/** The result of an import: loaded, apart from rejects and erased people, or not because of bad records. */
export type ImportResult =
  | {
      loaded: true
      lines: number
      rejected: number
      erased: LeftOut
      summary: Summary
      /** A bad record without an id, because of which --sync could remove nothing but parts. */
      keptFor: Place | undefined
    }
  | {
      loaded: false
      lines: number
      problems: Problem[]
      total: number
      /** The problem is a part of an unknown assessment, which cannot be left out. */
      isPartOfUnknown?: true
    }

/** Rolls the transaction back. */
class Undone extends Error {
  constructor(readonly result: ImportResult) {
    super()
  }
}

/** Loads a source in one transaction, in turn with other imports. @throws Failure, also for removals above the limit */
export async function importSource(
  db: Sql,
  source: RecordSource,
  onProgress: (progress: Progress) => void,
  options: ImportOptions = {},
): Promise<ImportResult> {
  const { dryRun = false, signal } = options
  // Only the end of its connection ends an import in the middle of a statement.
  const end = () => void db.end({ timeout: 0 }).catch(() => {})
  signal?.addEventListener('abort', end)
  const loading = db.begin(async sql => {
    await acquireLoadLock(sql, () => onProgress({ phase: 'waiting' }))
    await requireTriggers(sql)
    await configureLoad(sql)
    await source.feed?.readState(sql)
    const result = await importInto(sql, source, onProgress, options)
    if (!result.loaded || dryRun) throw new Undone(result)
    // The next round of a feed requests rejects again.
    if (result.rejected === 0) await source.feed?.writeState(sql)
    // Also without any change; otherwise the import already holds the lock on that row.
    await sql`update export_state set last_import_at = clock_timestamp()`
    return result
  })
  try {
    const result = await loading.finally(() => signal?.removeEventListener('abort', end))
    onProgress({ phase: 'tidying' })
    const isRound = source.feed !== undefined && !source.feed.isFull()
    if (!isRound || !(await isVacuumed(db))) await vacuumChanged(db, result.summary)
    return result
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
  const { onReject, maxRejected = { percent: 1 }, sync } = options
  const { files, types, hasPartsApart, feed } = source
  const staged = await stageRecords(sql, source, onReject !== undefined, (lines, bytes) =>
    onProgress({ phase: 'reading', bytes, size: source.size, lines }),
  )
  const { lines } = staged
  if (lines === 0 && feed && !feed.isFull()) return nothingNew()
  if (lines === 0) throw new Failure(`nothing was loaded: there is no record in ${source.name}`)
  const cutOff = sync && source.cutOff()
  if (cutOff) throw new Failure(`nothing was loaded: --sync would remove what was cut off, and ${cutOff}`)
  onProgress({ phase: 'checking' })
  // Stored values are copied here and written later: a commit of another writer in between would be undone.
  if (staged.partial.size > 0) await sql`select lock_export()`
  const erased = await prepareStaging(sql, staged, hasPartsApart)
  if (onReject && hasPartsApart && types.includes('part')) {
    const { unidentified } = await countRejects(sql, placeOf(files.length - 1, 0))
    if (unidentified !== null) {
      const first = await firstProblems(sql, source, 1, unidentified)
      return { loaded: false, lines, problems: first, total: 1, isPartOfUnknown: true }
    }
  }

  const { count, unidentified } = await countRejects(sql)
  if (sync && (onReject || count === 0)) await findChanges(sql, sync, unidentified === null ? types : [])
  else await findChanges(sql)

  const isWhole = onReject === undefined
  await rejectRows(sql, problems(source, sync !== undefined, isWhole), isWhole)
  const { count: rejected } = await countRejects(sql)
  // Of a few lines, a share would be none.
  const isAllowed = !exceeds(maxRejected, rejected, lines) || ('percent' in maxRejected && rejected <= 10)
  // Problems after the first hundred are only counted.
  if (rejected > 0 && !(onReject && isAllowed))
    return { loaded: false, lines, problems: await firstProblems(sql, source, 100), total: rejected }
  if (onReject) for await (const reject of readRejects(sql, source)) await onReject(reject)

  const summary = await summarize(sql)
  await applyStaging(sql, summary, onProgress)
  const keptFor = sync && unidentified !== null ? placeIn(source, unidentified) : undefined
  return { loaded: true, lines, rejected, erased, summary, keptFor }
}

/** Index-only scans need VACUUM, and plans statistics, at once. Postgres only warns a role that may not vacuum. */
async function vacuumChanged(db: Sql, summary: Summary): Promise<void> {
  const changed = Object.entries(summary)
    .filter(([, { inserted, updated, deleted }]) => inserted + updated + deleted > 0)
    .map(([table]) => table)
  if (changed.length === 0) return
  // A rename changes records, too.
  changed.push('export_records', 'export_people', 'export_products', 'export_counts')
  await db.unsafe(`vacuum (analyze) ${changed.join(', ')}`)
}
