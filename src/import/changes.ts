import type { TransactionSql } from 'postgres'
import { listColumns } from './fields.ts'
import { ROW_TYPES, type RowType, TABLE_OF, TYPES, type Type } from './record.ts'

/** Rows of a source table by what an import does to them. */
interface Counts {
  inserted: number
  updated: number
  unchanged: number
  deleted: number
}

/** The effect of an import, by source table. */
export type Summary = Record<string, Counts>

/**
 * Finds the staged rows that differ from the database: all later steps read these alone. The tables changed_organizations
 * and so on have the id of each, and whether it is new.
 */
export async function findChanges(sql: TransactionSql): Promise<void> {
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
}

/** Some columns may be null. */
const areEqual = (type: Type) =>
  `row(${listColumns(type, 't.')}) is not distinct from row(${listColumns(type, 'i.')})`

/**
 * An assessment also changes by its parts: by a staged one that the database does not have, or by one of the database
 * that is no longer staged. An assessment without staged parts keeps its parts.
 */
const BY_PARTS = `
  union
  select i.assessment_id from import_assessment_parts i
  where not exists (select from assessment_parts t where t.id = i.id and ${areEqual('part')})
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
      from (${type === 'part' ? PARTS : countsOf(type)}) as counts`)
    summary[TABLE_OF[type]] = { ...(row as Counts) }
  }
  return summary
}

function countsOf(type: RowType): string {
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

/** The part `t` of the database goes, and becomes no part of another assessment. */
const IS_GONE = 'not exists (select from import_assessment_parts p where p.id = t.id)'

/** Parts of an assessment that does not change are unchanged. */
const PARTS = `
  select inserted, updated, deleted, (select count(*) from import_assessment_parts) + deleted as staged
  from (
    select
      count(*) filter (where t.id is null) as inserted,
      count(*) filter (where t.id is not null and not (${areEqual('part')})) as updated,
      (
        select count(*) from import_assessments a
        join assessment_parts t on t.assessment_id = a.id
        where a.deleted and ${IS_GONE}
      ) + (
        select count(*) from changed_assessments c
        join assessment_parts t on t.assessment_id = c.id
        where exists (select from import_assessment_parts p where p.assessment_id = c.id) and ${IS_GONE}
      ) as deleted
    from changed_assessments c
    join import_assessment_parts i on i.assessment_id = c.id
    left join assessment_parts t on t.id = i.id
  ) as changed`
