import type { TransactionSql } from 'postgres'
import { exceeds, findChanges, summarize } from './changes.ts'
import { problems } from './checks.ts'
import { prepareStaging } from './prepare.ts'
import { placeIn, placeOf, type RecordSource } from './record.ts'
import { countRejects, firstProblems, rejectRows } from './rejects.ts'
import { type Comparison, type ImportOptions, Undone } from './result.ts'
import type { Staged } from './staging.ts'

/** Finds out what the staged records change, and takes bad ones out. @throws Undone if too many of them are bad */
export async function compare(
  sql: TransactionSql,
  source: RecordSource,
  staged: Staged,
  { onReject, maxRejected = { percent: 1 }, sync }: ImportOptions,
): Promise<Comparison> {
  const { files, types, hasPartsApart } = source
  const { lines } = staged
  const erased = await prepareStaging(sql, staged, hasPartsApart)
  if (onReject && hasPartsApart && types.includes('part')) {
    const { unidentified } = await countRejects(sql, placeOf(files.length - 1, 0))
    if (unidentified !== null) {
      const first = await firstProblems(sql, source, 1, unidentified)
      throw new Undone({ loaded: false, lines, problems: first, total: 1, isPartOfUnknown: true })
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
    throw new Undone({
      loaded: false,
      lines,
      problems: await firstProblems(sql, source, 100),
      total: rejected,
    })

  const summary = await summarize(sql)
  const keptFor = sync && unidentified !== null ? placeIn(source, unidentified) : undefined
  return { rejected, erased, summary, keptFor }
}
