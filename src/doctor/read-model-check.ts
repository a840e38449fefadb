import type { Sql } from 'postgres'
import { compareCounts, READ_MODEL, type ReadModelTable } from '../postgres/schema/read-model.ts'
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
    const { rows, ids, known, different, example } = await compare(db, part, full)
    const what = ids < known ? `${rows} of ${known} ${part.rows}` : `all ${rows} ${part.rows}`
    const differ = different === 1 ? 'differs from its source' : 'differ from their source'
    if (different > 0)
      return wrong(
        'read model',
        `${different} of ${what} ${differ}, as ${part.one} ${example}: axport refresh renders all of them anew`,
      )
    compared.push(what)
    isWhole &&= ids === known
  }
  const miscounted = full && (await countFinding(db))
  if (miscounted) return miscounted
  const unknown = isWhole ? '' : '; not every row was compared, axport doctor --full does that'
  return ok('read model', `${compared[0]}, equal to their source${unknown}`)
}

async function countFinding(db: Sql): Promise<Finding | undefined> {
  const { compared, missing, outdated, left_over, organizations } = await compareCounts(db, undefined)
  const different = missing + outdated + left_over
  if (different === 0) return undefined
  const differ = different === 1 ? 'differs from its records' : 'differ from their records'
  return wrong(
    'read model',
    `${different} of all ${compared} counts ${differ}, as of organization ${organizations[0]}: axport refresh counts anew`,
  )
}

interface Comparison {
  /** Rows of the read model, and ids of the source and the read model: an assessment without parts has no row. */
  rows: number
  ids: number
  /** All ids, compared or not. */
  known: number
  different: number
  example: string | null
}

async function compare(db: Sql, { table, id, source }: ReadModelTable, full: boolean): Promise<Comparison> {
  const rendered = db`select * from ${db(`${table}_rendered`)}`
  const known = db`select id from ${db(source)} union select ${db(id)} from ${db(table)}`
  const [found] = await db<Comparison[]>`
    with compared as materialized (
      select id, count(*) over () as known
      from (${known}) as known ${full ? db`` : db`order by random() limit ${SAMPLE}`}
    )
    select
      count(coalesce(r.${db(id)}, v.${db(id)}))::integer as rows,
      count(*)::integer as ids,
      coalesce(max(compared.known), 0)::integer as known,
      (count(*) filter (where r is distinct from v))::integer as different,
      (min(compared.id) filter (where r is distinct from v))::text as example
    from compared
    left join ${db(table)} r on r.${db(id)} = compared.id
    left join ${
      // A sample is rendered id by id.
      full
        ? db`(${rendered}) v on v.${db(id)} = compared.id`
        : db`lateral (${rendered} v where v.${db(id)} = compared.id) v on true`
    }`
  return found ?? { rows: 0, ids: 0, known: 0, different: 0, example: null }
}
