import type { TransactionSql } from 'postgres'
import { SOURCE_TABLES } from '../../db/schema.ts'
import { exceeds } from '../limit.ts'
import { onlyRow } from '../postgres/statement.ts'
import { findChanges, summarize } from './changes.ts'
import { problems } from './checks.ts'
import { prepareStaging } from './prepare.ts'
import { placeIn, placeOf, type RecordSource } from './record.ts'
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
  const isShare = 'percent' in maxRejected
  const isAllowed =
    !exceeds(maxRejected, rejected, lines) ||
    // Of a few lines, a share would be none.
    (isShare && rejected <= 10) ||
    // The rejects of a feed wait beside all that it has loaded, and not only beside the rows of this round.
    (isShare && feed !== undefined && !exceeds(maxRejected, rejected, await estimateStored(sql)))
  const reasons = rejected > 0 ? await countReasons(sql, source) : []
  if (rejected > 0 && !(onReject && isAllowed)) {
    // Problems after the first hundred are only counted.
    const first = await firstProblems(sql, source, 100)
    throw new Undone({ loaded: false, lines, ...first, total: rejected, reasons })
  }

  const summary = await summarize(sql)
  return {
    rejected,
    reasons,
    erased,
    summary,
    unidentified: unidentified === null ? undefined : placeIn(source, { line: unidentified }),
    lostParts: await findLostParts(sql),
  }
}

/** The number of rows in all source tables, as the planner expects it: counting them would take a round seconds. */
async function estimateStored(sql: TransactionSql): Promise<number> {
  const { rows } = onlyRow(
    await sql<{ rows: number }[]>`
      select sum(greatest(reltuples, 0))::float8 as rows
      from pg_class join unnest(${SOURCE_TABLES}::text[]::regclass[]) as source on source = oid`,
  )
  return rows
}
