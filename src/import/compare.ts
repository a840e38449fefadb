import type { TransactionSql } from 'postgres'
import { exceeds } from '../limit.ts'
import { findChanges, summarize } from './changes.ts'
import { problems } from './checks.ts'
import { prepareStaging } from './prepare.ts'
import { describePlace, placeIn, placeOf, type RecordSource } from './record.ts'
import { countReasons, countRejects, firstProblems, rejectRows } from './rejects.ts'
import { findLostParts, limitRemovals, stageRemovals } from './removals.ts'
import { type Comparison, type ImportOptions, Undone } from './result.ts'
import type { Staged } from './staging.ts'

/** Finds out what the staged records change, and takes bad ones out. @throws Undone if too many of them are bad */
export async function compare(
  sql: TransactionSql,
  source: RecordSource,
  staged: Staged,
  { onReject, maxRejected = { percent: 1 }, sync, maxRemoved = { percent: 10 } }: ImportOptions,
): Promise<Comparison> {
  const { files, types, hasPartsApart, feed } = source
  const { lines } = staged
  const erased = await prepareStaging(sql, staged, hasPartsApart)
  if (onReject && hasPartsApart && types.includes('part')) {
    const { unidentified } = await countRejects(sql, placeOf(files.length - 1, 0))
    if (unidentified !== null) {
      const first = await firstProblems(sql, source, 1, unidentified)
      throw new Undone({ loaded: false, lines, ...first, total: 1, reasons: [], isPartOfUnknown: true })
    }
  }

  const { count, unidentified } = await countRejects(sql)
  const isWhole = onReject === undefined
  const isSync = sync !== undefined
  // A bad record may be about any row, if nobody knows its id.
  if (isSync && (!isWhole || count === 0) && unidentified === null) await stageRemovals(sql, types)
  await findChanges(sql)
  await rejectRows(sql, problems(source, isWhole), isWhole)
  // Of the removals, those that had to be left out are gone.
  if ((isSync || feed) && (!isWhole || count === 0))
    await limitRemovals(sql, { most: sync ?? maxRemoved, isOfFeed: feed !== undefined, isSync })

  const { count: rejected } = await countRejects(sql)
  // Of a few lines, a share would be none.
  const isAllowed = !exceeds(maxRejected, rejected, lines) || ('percent' in maxRejected && rejected <= 10)
  const reasons = rejected > 0 ? await countReasons(sql, source) : []
  if (rejected > 0 && !(onReject && isAllowed)) {
    // Problems after the first hundred are only counted.
    const first = await firstProblems(sql, source, 100)
    throw new Undone({ loaded: false, lines, ...first, total: rejected, reasons })
  }

  const summary = await summarize(sql)
  const { problems: first } = rejected > 0 ? await firstProblems(sql, source, 30) : { problems: [] }
  return {
    rejected,
    firstRejected: [...new Set(first.map(describePlace))].slice(0, 3),
    reasons,
    erased,
    summary,
    unidentified: unidentified === null ? undefined : placeIn(source, { line: unidentified }),
    lostParts: await findLostParts(sql),
  }
}
