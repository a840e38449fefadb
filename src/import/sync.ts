import type { TransactionSql } from 'postgres'
import { Failure } from '../errors.ts'
import { placeOf, type RowType, TABLE_OF } from './record.ts'
import { STAGED } from './staging.ts'

/** How much --sync may remove of each type: a share of what the database has, or a number of rows. */
export type MaxRemoved = { percent: number } | { count: number }

/** The file that removals by --sync stand in; no source has so many. */
const SYNC_FILE = 4000

/** Rows from this place on come from no record. */
export const SYNC_PLACE = placeOf({ file: SYNC_FILE, line: 0 })

/** Whether a row was staged by --sync. */
export function isRemoval(place: number): boolean {
  return place >= SYNC_PLACE
}

/**
 * Stages the removal of everything that the database has and the source does not name, not even in a bad
 * record. From there on it is deleted as if the source said so.
 * @throws Failure when it would be more than `most` of a type
 */
export async function stageRemovals(sql: TransactionSql, types: RowType[], most: MaxRemoved): Promise<void> {
  const excesses: string[] = []
  for (const [index, type] of types.entries()) {
    const table = TABLE_OF[type]
    const [there] = await sql.unsafe<{ count: string }[]>(`select count(*) from ${table}`)
    const total = Number(there?.count)
    const removed = await stageRemovalsOf(sql, type, SYNC_PLACE + index * 2 ** 36)
    const isTooMuch = 'count' in most ? removed > most.count : removed * 100 > total * most.percent
    if (isTooMuch) excesses.push(`${removed} of ${total} ${table}`)
  }
  if (excesses.length > 0) {
    const allowed = 'count' in most ? String(most.count) : `${most.percent}%`
    throw new Failure(
      `nothing was loaded: --sync would remove ${excesses.join(' and ')}, more than ${allowed}; is the source complete? If so, allow it with --max-removed`,
    )
  }
  await sql`analyze import_organizations, import_products, import_users, import_assessments`
}

async function stageRemovalsOf(sql: TransactionSql, type: RowType, firstPlace: number): Promise<number> {
  const { name } = STAGED[type]
  const parts =
    type === 'assessment'
      ? `and not exists (select from import_parts p where p.assessment_id = t.id)
         and not exists (select from import_removed_parts p where p.assessment_id = t.id)
         and not exists (select from import_rejects r where r.assessment_id = t.id)`
      : ''
  const result = await sql.unsafe(
    `insert into ${name} (line, id, deleted)
     select $1::bigint + row_number() over (order by t.id), t.id, true
     from ${TABLE_OF[type]} t
     where not exists (select from ${name} i where i.id = t.id)
       and not exists (select from import_rejects r where r.id = t.id and r.type = $2)
       ${parts}`,
    [firstPlace, type],
  )
  return result.count
}

/** The place of a bad record that does not say whose it is: what such a source contains cannot be known. */
export async function findUnknown(sql: TransactionSql): Promise<number | undefined> {
  const [row] = await sql<{ line: string | null }[]>`
    select min(line) as line from import_rejects where id is null and assessment_id is null`
  return row?.line == null ? undefined : Number(row.line)
}
