import type { Sql, TransactionSql } from 'postgres'
import { Failure } from '../errors.ts'
import { requireTriggers, settle, waitForTurn } from '../postgres/schema/load-session.ts'
import { type ApplyProgress, applyStaging } from './apply.ts'
import { findChanges, type Summary, summarize } from './changes.ts'
import { type LeftOut, NOBODY } from './erased.ts'
import { isBeyond, type Limit } from './limit.ts'
import { endLine } from './ndjson.ts'
import { describePlace, type Place, placeIn, placeOf } from './place.ts'
import { type RecordSource, TABLE_OF } from './record.ts'
import { countRejects, findProblems, firstReasons, readRejects, rejectProblems } from './rejects.ts'
import { isVacuumed, noteImport, vacuumChanged } from './session.ts'
import { settleStaging } from './settle.ts'
import { createStaging, StagingBatch } from './staging.ts'
import { findUnknown, partsRemoved, refuseExcess, stageRemovals } from './sync.ts'

/** Bad records that are described; the others are counted. */
const MAX_DESCRIBED = 100

/** How far an import is. `size` is unknown for the bytes of standard input. */
export type Progress =
  | { phase: 'waiting' }
  | { phase: 'reading'; bytes: number; size: number | undefined; lines: number }
  | { phase: 'checking' }
  | ApplyProgress
  /** All is there for good; what is left makes reading it fast. */
  | { phase: 'tidying' }

/** A record that cannot be loaded, and why. */
export interface Problem extends Place {
  reason: string
}

/** A record that was left out, with its original text where that was not too long to be kept. */
export interface Reject extends Problem {
  text: string | undefined
}

/** How an import may differ from loading all that is in the source, or nothing. */
export interface ImportOptions {
  /** Everything but the commit. */
  dryRun?: boolean
  /** Takes each bad record; the others are loaded. */
  onReject?: (reject: Reject) => Promise<void> | void
  /** How many may be left out; a share of 1 % unless given. Of a share, ten are allowed in any case. */
  maxRejected?: Limit
  /** Removes what the source does not contain, up to this. */
  sync?: Limit
  /** Ends the import and leaves the database as it was. */
  signal?: AbortSignal
}

/** What came of it: all was loaded, apart from what was rejected or erased, or nothing was because of bad records. */
export type ImportResult =
  | {
      loaded: true
      lines: number
      rejected: number
      /** Who was erased and is in the source all the same. */
      erased: LeftOut
      summary: Summary
      /** A bad record that does not say whose it is, because of which nothing but parts could be removed. */
      keptFor: Place | undefined
    }
  | {
      loaded: false
      lines: number
      problems: Problem[]
      total: number
      /** The problem is a part of nobody knows which assessment, which cannot be left out. */
      isPartOfUnknown?: true
    }

/**
 * Loads a source into the source tables: all of it, or nothing. One transaction, so that readers see the
 * state before or the state after. Another import waits for this one.
 * @throws Failure for a source that cannot be read, is empty or not whole, or for more removals than are allowed
 */
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
  let result: ImportResult | undefined
  try {
    await db.begin(async sql => {
      await waitForTurn(sql, () => onProgress({ phase: 'waiting' }))
      await requireTriggers(sql)
      await settle(sql)
      await source.feed?.recall(sql)
      result = await importInto(sql, source, onProgress, options)
      if (!result.loaded || dryRun) throw new Undone()
      // What was left out is asked for again by the next round.
      if (result.rejected === 0) await source.feed?.remember(sql)
      await noteImport(sql)
    })
  } catch (error) {
    if (!(error instanceof Undone)) throw error
  } finally {
    signal?.removeEventListener('abort', end)
  }
  if (result?.loaded && !dryRun) {
    onProgress({ phase: 'tidying' })
    const isRound = source.feed !== undefined && !source.feed.isFull()
    if (!isRound || !(await isVacuumed(db))) await vacuumChanged(db, result.summary)
  }
  return result as ImportResult
}

/** Leaves the transaction without a trace. */
class Undone extends Error {}

async function importInto(
  sql: TransactionSql,
  source: RecordSource,
  onProgress: (progress: Progress) => void,
  options: ImportOptions,
): Promise<ImportResult> {
  const { onReject, maxRejected = { percent: 1 }, sync } = options
  const { files, types, hasPartsApart, holdsParts, feed } = source
  const { lines, staged } = await stage(sql, source, onProgress, onReject !== undefined)
  if (lines === 0 && feed && !feed.isFull()) return nothingNew()
  if (lines === 0) throw new Failure(`nothing was loaded: there is no record in ${source.name}`)
  if (sync && !source.isWhole())
    throw new Failure(
      `nothing was loaded: --sync from a stream needs a last line that says that nothing was cut off, ${endLine(lines)}`,
    )
  onProgress({ phase: 'checking' })
  // What is stored is copied here and written later: what somebody else commits in between would be undone.
  if (staged.partial.size > 0) await sql`select lock_export()`
  const erased = await settleStaging(sql, staged, hasPartsApart)
  if (onReject && hasPartsApart && holdsParts) {
    const line = await findUnknown(sql, placeOf({ file: files.length - 1, line: 0 }))
    const problems = line === undefined ? [] : await describeReasons(sql, source, 1, line)
    if (problems.length > 0) return { loaded: false, lines, problems, total: 1, isPartOfUnknown: true }
  }

  const unknown = sync && (await findUnknown(sql))
  const isSyncing = sync !== undefined && (onReject !== undefined || (await countRejects(sql)) === 0)
  const removals = isSyncing && unknown === undefined ? await stageRemovals(sql, types) : []
  await findChanges(sql)
  if (isSyncing) refuseExcess([...removals, await partsRemoved(sql)], sync)

  // A feed's parts of an assessment are all that it has now.
  const needsParts = holdsParts && (sync !== undefined || feed !== undefined)
  const partsComeAlong = feed !== undefined && types.includes('assessment')
  const checking = { hasPartsApart, needsParts, partsComeAlong }
  if (onReject) await rejectProblems(sql, { ...checking, isWhole: false })
  else await findProblems(sql, { ...checking, isWhole: true })
  const rejected = await countRejects(sql)
  if (rejected > 0 && (!onReject || isTooMany(rejected, lines, maxRejected))) {
    const problems = await describeReasons(sql, source, MAX_DESCRIBED)
    return { loaded: false, lines, problems, total: rejected }
  }
  if (onReject) {
    for await (const { line, reasons, text } of readRejects(sql)) {
      const reason = reasons.map(one => reasonIn(source, one.reason, one.otherLine)).join('; ')
      await onReject({ ...placeIn(source, line), reason, text })
    }
  }

  const summary = await summarize(sql)
  await applyStaging(sql, summary, onProgress)
  const keptFor = unknown === undefined ? undefined : placeIn(source, unknown)
  return { loaded: true, lines, rejected, erased, summary, keptFor }
}

/** What comes of a round of a feed in which nothing has changed: it needs no tables to compare. */
function nothingNew(): ImportResult {
  const tables = [...Object.values(TABLE_OF), 'assessment_parts']
  const none = { inserted: 0, updated: 0, unchanged: 0, deleted: 0 }
  const summary = Object.fromEntries(tables.map(table => [table, none]))
  return { loaded: true, lines: 0, rejected: 0, erased: NOBODY, summary, keptFor: undefined }
}

/** A reason, completed by the place of another record where it needs one. */
const reasonIn = (source: RecordSource, reason: string, other: number | undefined) =>
  other === undefined ? reason : reason + describePlace(placeIn(source, other))

/** The first reasons from a place on, in words. */
async function describeReasons(
  sql: TransactionSql,
  source: RecordSource,
  limit: number,
  from = 0,
): Promise<Problem[]> {
  return (await firstReasons(sql, limit, from)).map(({ line, reason, otherLine }) => ({
    ...placeIn(source, line),
    reason: reasonIn(source, reason, otherLine),
  }))
}

/** Of a few lines, a share would be none. */
const ALWAYS_ALLOWED = 10

const isTooMany = (rejected: number, lines: number, most: Limit) =>
  isBeyond(most, rejected, lines) && ('count' in most || rejected > ALWAYS_ALLOWED)

async function stage(
  sql: TransactionSql,
  source: RecordSource,
  onProgress: (progress: Progress) => void,
  keepTexts: boolean,
) {
  const batch = new StagingBatch(sql, keepTexts)
  let lines = 0
  let bytes = 0
  onProgress({ phase: 'reading', bytes, size: source.size, lines })
  for await (const records of source.read(read => (bytes = read))) {
    if (lines === 0 && records.length > 0) await createStaging(sql)
    for (const record of records) batch.add(record)
    await batch.flow()
    lines += records.length
    onProgress({ phase: 'reading', bytes, size: source.size, lines })
  }
  await batch.finish()
  return { lines, staged: batch }
}
