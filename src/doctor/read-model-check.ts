import type { Sql } from 'postgres'
import { compareCounts, compareRows, READ_MODEL } from '../postgres/schema/read-model.ts'
import { type Finding, ok, skipped, unreadable, wrong } from './finding.ts'

/** Rows of each table that are compared without --full. */
const SAMPLE = 1000

/**
 * Whether the read model equals its source. `full` compares every row and the counts of the records; otherwise a random
 * sample of the ids of the source and the read model is compared.
 */
export async function checkReadModel(db: Sql, full: boolean): Promise<Finding> {
  const tables = READ_MODEL.flatMap(({ table, source }) => [source, table, `${table}_rendered`])
  if ((await unreadable(db, ...tables, 'export_counts')).length > 0)
    return skipped('read model', 'this role cannot read the source tables: run doctor as their owner')
  const compared: string[] = []
  let isWhole = true
  for (const part of READ_MODEL) {
    const ids = db`select id from ${db(part.source)} union select ${db(part.id)} from ${db(part.table)}`
    const sample = full ? undefined : db`order by random() limit ${SAMPLE}`
    const found = await compareRows(db, part, ids, sample)
    const { rows, offered, differing } = found
    const what = found.compared < offered ? `${rows} of ${offered} ${part.rows}` : `all ${rows} ${part.rows}`
    const differ = differing.length === 1 ? 'differs from its source' : 'differ from their source'
    if (differing.length > 0)
      return wrong(
        'read model',
        `${differing.length} of ${what} ${differ}, as ${part.one} ${differing[0]}: axport refresh renders all of them anew`,
      )
    compared.push(what)
    isWhole &&= found.compared === offered
  }
  if (full) {
    const counts = await compareCounts(db, undefined)
    const different = counts.missing + counts.outdated + counts.left_over
    const differ = different === 1 ? 'differs from its records' : 'differ from their records'
    if (different > 0)
      return wrong(
        'read model',
        `${different} of all ${counts.compared} counts ${differ}, as of organization ${counts.organizations[0]}: axport refresh counts anew`,
      )
  }
  const unknown = isWhole ? '' : '; not every row was compared, axport doctor --full does that'
  return ok('read model', `${compared[0]}, equal to their source${unknown}`)
}
