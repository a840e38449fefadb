import type { TransactionSql } from 'postgres'
import countsOfParts from './counts-of-parts.sql' with { type: 'text' }
import { listColumns } from './fields.ts'
import { ROW_TYPES, TABLE_OF, TYPES, type Type } from './source-rows.ts'

/** Rows of a source table by what an import does to them. */
type Counts = Record<'inserted' | 'updated' | 'unchanged' | 'deleted', number>

/** The effect of an import, by source table. */
export type Summary = Record<string, Counts>

/** Lists staged rows that differ from stored ones, in the tables changed_organizations, … */
export async function findChanges(sql: TransactionSql): Promise<void> {
  for (const type of ROW_TYPES) {
    const table = TABLE_OF[type]
    await sql.unsafe(`
      create temporary table changed_${table} on commit drop as
      select i.id, not exists (select from ${table} t where t.id = i.id) as is_new
      from import_${table} i
      where not i.deleted and not exists (select from ${table} t where t.id = i.id and ${areEqual(type)})`)
    if (type === 'assessment') await sql.unsafe(CHANGED_BY_PARTS)
    await sql.unsafe(`create index on changed_${table} (id); analyze changed_${table}`)
  }
}

/** Some columns may be null. */
const areEqual = (type: Type) =>
  `row(${listColumns(type, 't.')}) is not distinct from row(${listColumns(type, 'i.')})`

/**
 * Stored assessments with a part that is not stored, or, if a part of theirs is staged, with a stored one that is not.
 * Others are new, whatever their parts. A statement of its own, because one union of both would compare all ids of a first
 * load. "except" is no join: changed_assessments has no statistics yet, for which a join could look through it for each id.
 */
const CHANGED_BY_PARTS = `
  insert into changed_assessments (id, is_new)
  select id, false
  from (
    select i.assessment_id as id from import_assessment_parts i
    where exists (select from assessments t where t.id = i.assessment_id)
      and not exists (select from assessment_parts t where t.id = i.id and ${areEqual('part')})
    union
    select t.assessment_id from assessment_parts t
    where exists (select from import_assessment_parts i where i.assessment_id = t.assessment_id)
      and not exists (select from import_assessment_parts i where i.id = t.id and i.assessment_id = t.assessment_id)
    except
    select id from changed_assessments
  ) as by_parts`

/** Counts the staged rows by their effect. The deletion of a row that is not there counts as unchanged. */
export async function summarize(sql: TransactionSql): Promise<Summary> {
  const summary: Summary = {}
  for (const type of TYPES) {
    // offset 0, because Postgres would otherwise count again for each column that uses a count.
    const [row] = await sql.unsafe<Counts[]>(`
      select inserted::float8, updated::float8, (staged - inserted - updated - deleted)::float8 as unchanged,
        deleted::float8
      from (${type === 'part' ? countsOfParts : countsOf(type)} offset 0) as counts`)
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
