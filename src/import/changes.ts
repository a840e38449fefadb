import type { TransactionSql } from 'postgres'
import { Failure } from '../errors.ts'
import countsOfParts from './counts-of-parts.sql' with { type: 'text' }
import { listColumns } from './fields.ts'
import { ROW_TYPES, SYNC_PLACE, TABLE_OF, TYPES, type Type } from './record.ts'

/** Rows of a source table by what an import does to them. */
type Counts = Record<'inserted' | 'updated' | 'unchanged' | 'deleted', number>

/** The effect of an import, by source table. */
export type Summary = Record<string, Counts>

/** Stages `removable` rows for --sync, and lists staged rows that differ from stored ones. @throws Failure above `most` */
export async function findChanges(sql: TransactionSql, most?: Limit, removable: Type[] = []): Promise<void> {
  if (removable.length > 0) await stageRemovals(sql, removable)
  for (const type of ROW_TYPES) {
    const table = TABLE_OF[type]
    await sql.unsafe(`
      create temporary table changed_${table} on commit drop as
      select id, not exists (select from ${table} t where t.id = changed.id) as is_new
      from (
        select i.id from import_${table} i
        where not i.deleted and not exists (select from ${table} t where t.id = i.id and ${areEqual(type)})
        ${type === 'assessment' ? BY_PARTS : ''}
      ) as changed`)
    await sql.unsafe(`analyze changed_${table}`)
  }
  if (most) await limitRemovals(sql, most)
}

/** Some columns may be null. */
const areEqual = (type: Type) =>
  `row(${listColumns(type, 't.')}) is not distinct from row(${listColumns(type, 'i.')})`

/**
 * Stored assessments with a part that is not stored, or, if a part of theirs is staged, with a stored one that is not.
 * Others are new, whatever their parts.
 */
const BY_PARTS = `
  union
  select i.assessment_id from import_assessment_parts i
  where exists (select from assessments t where t.id = i.assessment_id)
    and not exists (select from assessment_parts t where t.id = i.id and ${areEqual('part')})
  union
  select t.assessment_id from assessment_parts t
  where exists (select from import_assessment_parts i where i.assessment_id = t.assessment_id)
    and not exists (select from import_assessment_parts i where i.id = t.id and i.assessment_id = t.assessment_id)`

/** Counts the staged rows by their effect. The deletion of a row that is not there counts as unchanged. */
export async function summarize(sql: TransactionSql): Promise<Summary> {
  const summary: Summary = {}
  for (const type of TYPES) {
    const [row] = await sql.unsafe<Counts[]>(`
      select inserted::float8, updated::float8, (staged - inserted - updated - deleted)::float8 as unchanged,
        deleted::float8
      from (${type === 'part' ? countsOfParts : countsOf(type)}) as counts`)
    summary[TABLE_OF[type]] = { ...(row as Counts) }
  }
  return summary
}

function countsOf(type: Type): string {
  const table = TABLE_OF[type]
  return `
    select
      (select count(*) from changed_${table} where is_new) as inserted,
      (select count(*) from changed_${table} where not is_new) as updated,
      (select count(*) from import_${table} i join ${table} t on t.id = i.id where i.deleted) as deleted,
      (select count(*) from import_${table}) ${type === 'assessment' ? ONLY_PARTS : ''} as staged`
}

/** Assessments of which only the parts are staged. */
const ONLY_PARTS = `
  + (select count(distinct p.assessment_id) from import_assessment_parts p
     where p.apart and not exists (select from import_assessments a where a.id = p.assessment_id))`

/** The most that may be rejected or removed: a share of all, or a number. */
export type Limit = { percent: number } | { count: number }

/** Whether `some` of `all` exceed a limit. */
export const exceeds = (limit: Limit, some: number, all: number): boolean =>
  'count' in limit ? some > limit.count : some * 100 > all * limit.percent

/** Stages the removal of every row that the source does not name, not even in a bad record, as a deletion by the source. */
async function stageRemovals(sql: TransactionSql, types: Type[]): Promise<void> {
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

/** Checks staged removals, and separate parts that assessments no longer list. */
async function limitRemovals(sql: TransactionSql, most: Limit): Promise<void> {
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
