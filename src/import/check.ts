import type { TransactionSql } from 'postgres'
import { exceeds } from '../limit.ts'
import { findChanges, summarize } from './changes.ts'
import { problems } from './checks.ts'
import { indexPlaces } from './indexes.ts'
import { prepareStaging } from './prepare.ts'
import { countReasons, countRejects, firstProblems, firstUnidentified, rejectRows } from './rejects.ts'
import { findLostParts, limitRemovals, stageRemovals } from './removals.ts'
import { type Comparison, type ImportOptions, Undone } from './result.ts'
import { describePlace, type ImportSource } from './source-rows.ts'
import type { Staged } from './stage.ts'

/** Finds out what the staged rows change, and takes bad ones out. @throws Undone if too many of them are bad */
export async function check(
  sql: TransactionSql,
  source: ImportSource,
  staged: Staged,
  options: ImportOptions,
): Promise<Comparison> {
  const { onReject, maxRejected = { percent: 1 }, sync, maxRemoved = { percent: 10 } } = options
  const { again = (option: string) => `the same command with ${option}` } = options
  const { files, types, hasPartsApart, feed } = source
  const { lines } = staged
  const erased = await prepareStaging(sql, staged, hasPartsApart)
  if (onReject && hasPartsApart && types.includes('part')) {
    const part = await firstUnidentified(sql, source, files.length - 1)
    if (part) {
      const counts = { listed: 1, total: 1, reasons: [] }
      throw new Undone({ loaded: false, lines, problems: [part], ...counts, isPartOfUnknown: true })
    }
  }

  const count = await countRejects(sql)
  const unidentified = await firstUnidentified(sql, source)
  const isAllOrNothing = onReject === undefined
  const isSync = sync !== undefined
  // A bad row may be about any row, if nobody knows its id.
  if (isSync && (!isAllOrNothing || count === 0) && !unidentified) await stageRemovals(sql, types)
  await findChanges(sql)
  if (!isAllOrNothing) await indexPlaces(sql, lines)
  await rejectRows(sql, problems(source, staged, isAllOrNothing), isAllOrNothing)
  // Of the removals, those that had to be left out are gone.
  if ((isSync || feed) && (!isAllOrNothing || count === 0))
    await limitRemovals(sql, { most: sync ?? maxRemoved, isOfFeed: feed !== undefined, isSync, again })

  const rejected = await countRejects(sql)
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
    unidentified,
    lostParts: await findLostParts(sql),
  }
}
