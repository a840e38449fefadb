import type { TransactionSql } from 'postgres'
import { Failure } from '../errors.ts'
import { ROW_TYPES, SYNC_PLACE, TABLE_OF, type Type } from './record.ts'

/** The most that may be rejected or removed: a share of all, or a number. */
export type Limit = { percent: number } | { count: number }

/** Whether `some` of `all` exceed a limit. */
export function exceeds(limit: Limit, some: number, all: number): boolean {
  return 'count' in limit ? some > limit.count : some * 100 > all * limit.percent
}

/** Stages the removal of all that the source does not name, not even in a bad record, as if the source had said so. */
export async function stageRemovals(sql: TransactionSql, types: Type[]): Promise<void> {
  for (const [index, type] of ROW_TYPES.entries()) {
    if (!types.includes(type)) continue
    const table = TABLE_OF[type]
    const parts =
      type === 'assessment'
        ? `and not exists (select from import_assessment_parts p where p.assessment_id = t.id)
           and not exists (select from import_removed_parts p where p.assessment_id = t.id)
           and not exists (select from import_rejects r where r.assessment_id = t.id)`
        : ''
    await sql.unsafe(
      `insert into import_${table} (line, id, deleted)
       select $1::bigint + row_number() over (order by t.id), t.id, true
       from ${table} t
       where not exists (select from import_${table} i where i.id = t.id)
         and not exists (select from import_rejects r where r.id = t.id and r.type = $2)
         ${parts}`,
      [SYNC_PLACE + index * 2 ** 36, type],
    )
  }
  await sql`analyze import_organizations, import_products, import_users, import_assessments`
}

/**
 * Checks the staged removals, and the separate parts that remaining assessments lose as their records no longer list them.
 * @throws Failure when more is removed of a table than `most` of its rows
 */
export async function limitRemovals(sql: TransactionSql, most: Limit): Promise<void> {
  const rows = ROW_TYPES.map(type => TABLE_OF[type]).map(
    table => `
    select '${table}' as table,
      (select count(*) from import_${table} where line >= ${SYNC_PLACE} and deleted)::float8 as removed,
      (select count(*) from ${table})::float8 as total
    union all`,
  )
  const counts = await sql.unsafe<{ table: string; removed: number; total: number }[]>(`
    ${rows.join('')}
    select 'assessment_parts' as table,
      (
        select count(*)
        from changed_assessments c
        join assessment_parts t on t.assessment_id = c.id
        where t.id <> t.assessment_id
          and exists (select from import_assessment_parts p where p.assessment_id = c.id)
          and not exists (select from import_assessment_parts p where p.id = t.id)
          and not exists (select from import_removed_parts r where r.id = t.id)
          and not exists (select from import_rejects r where r.assessment_id = c.id)
      )::float8 as removed,
      (select count(*) from assessment_parts where id <> assessment_id)::float8 as total`)
  const excesses = counts
    .filter(({ removed, total }) => exceeds(most, removed, total))
    .map(({ table, removed, total }) => `${removed} of ${total} ${table}`)
  if (excesses.length === 0) return
  const limit = 'count' in most ? most.count : `${most.percent}%`
  throw new Failure(
    `nothing was loaded: --sync would remove ${excesses.join(' and ')}, more than ${limit}; is the source complete? If so, allow it with --max-removed`,
  )
}
