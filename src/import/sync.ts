import type { TransactionSql } from 'postgres'
import { Failure } from '../errors.ts'
import { describeLimit, isBeyond, type Limit } from './limit.ts'
import { SYNC_PLACE } from './place.ts'
import { type RowType, TABLE_OF } from './record.ts'
import { STAGED } from './staging.ts'

/** What --sync removes of a table. */
export interface Removal {
  table: string
  removed: number
  total: number
}

/**
 * Stages the removal of everything that the database has and the source does not name, not even in a bad
 * record. From there on it is deleted as if the source said so.
 */
export async function stageRemovals(sql: TransactionSql, types: RowType[]): Promise<Removal[]> {
  const removals: Removal[] = []
  for (const [index, type] of types.entries()) {
    const table = TABLE_OF[type]
    const [there] = await sql.unsafe<{ count: string }[]>(`select count(*) from ${table}`)
    const removed = await stageRemovalsOf(sql, type, SYNC_PLACE + index * 2 ** 36)
    removals.push({ table, removed, total: Number(there?.count) })
  }
  await sql`analyze import_organizations, import_products, import_users, import_assessments`
  return removals
}

/** The separate parts that assessments lose which stay, because their records no longer list them. */
export async function partsRemoved(sql: TransactionSql): Promise<Removal> {
  const [row] = await sql<{ removed: string; total: string }[]>`
    select
      (
        select count(*)
        from changed_assessments c
        join assessment_parts t on t.assessment_id = c.id
        where t.id <> t.assessment_id
          and exists (select from import_parts p where p.assessment_id = c.id)
          and not exists (select from import_parts p where p.id = t.id)
          and not exists (select from import_removed_parts r where r.id = t.id)
          and not exists (select from import_rejects r where r.assessment_id = c.id)
      ) as removed,
      (select count(*) from assessment_parts where id <> assessment_id) as total`
  return { table: 'assessment_parts', removed: Number(row?.removed), total: Number(row?.total) }
}

/** @throws Failure when more is removed of a table than `most` of what it has */
export function refuseExcess(removals: Removal[], most: Limit): void {
  const excesses = removals
    .filter(({ removed, total }) => isBeyond(most, removed, total))
    .map(({ table, removed, total }) => `${removed} of ${total} ${table}`)
  if (excesses.length === 0) return
  throw new Failure(
    `nothing was loaded: --sync would remove ${excesses.join(' and ')}, more than ${describeLimit(most)}; is the source complete? If so, allow it with --max-removed`,
  )
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

/**
 * The place of a bad record, from the place `from` on, that does not say whose it is: what such a source contains
 * cannot be known.
 */
export async function findUnknown(sql: TransactionSql, from = 0): Promise<number | undefined> {
  const [row] = await sql<{ line: string | null }[]>`
    select min(line) as line from import_rejects
    where id is null and assessment_id is null and line >= ${from}`
  return row?.line == null ? undefined : Number(row.line)
}
