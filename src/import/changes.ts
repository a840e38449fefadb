import type { TransactionSql } from 'postgres'
import { FIELDS } from './fields.ts'
import { type RowType, TABLE_OF } from './record.ts'
import { TABLES } from './staging.ts'

/** Rows of a source table by what an import does to them. */
interface Counts {
  inserted: number
  updated: number
  unchanged: number
  deleted: number
}

/** The effect of an import, by source table. */
export type Summary = Record<string, Counts>

const TYPES = Object.entries(TABLE_OF) as [RowType, string][]

/**
 * Finds the staged rows that differ from the database, before anything is checked or written: all later steps read
 * these alone. The tables changed_organizations and so on have the id of each, and whether it is new.
 */
export async function findChanges(sql: TransactionSql): Promise<void> {
  for (const [type, table] of TYPES) {
    await sql.unsafe(`
      create temporary table changed_${table} on commit drop as
      select id, not exists (select from ${table} t where t.id = changed.id) as is_new
      from (${differing(type)} ${type === 'assessment' ? BY_PARTS : ''}) as changed`)
    await sql.unsafe(`analyze changed_${table}`)
  }
}

/** Staged rows without an equal in the database. */
const differing = (type: RowType) => `
  select i.id from ${TABLES[type].name} i
  where not i.deleted and not exists (
    select from ${TABLE_OF[type]} t where t.id = i.id and ${areEqual(Object.keys(FIELDS[type]))}
  )`

/** seid, and the name and date of a part, may be null. */
const areEqual = (columns: string[]) =>
  columns
    .map(column =>
      ['seid', 'name', 'certified_at'].includes(column)
        ? `t.${column} is not distinct from i.${column}`
        : `t.${column} = i.${column}`,
    )
    .join(' and ')

const IS_SAME_PART = areEqual(Object.keys(TABLES.part.columns))

/**
 * An assessment also changes by its parts: by a staged one that the database does not have, or by one of the database
 * that is no longer staged. An assessment without staged parts keeps its parts.
 */
const BY_PARTS = `
  union
  select i.assessment_id from import_parts i
  where not exists (select from assessment_parts t where t.id = i.id and ${IS_SAME_PART})
  union
  select t.assessment_id from assessment_parts t
  where exists (select from import_parts i where i.assessment_id = t.assessment_id)
    and not exists (select from import_parts i where i.id = t.id and i.assessment_id = t.assessment_id)`

/** Counts the staged rows by their effect. The deletion of a row that is not there counts as unchanged. */
export async function summarize(sql: TransactionSql): Promise<Summary> {
  const summary: Summary = {}
  for (const [table, counts] of [...TYPES.map(countsOf), ['assessment_parts', PARTS] as const]) {
    const [row] = await sql.unsafe<Counts[]>(`
      select inserted::float8, updated::float8, (staged - inserted - updated - deleted)::float8 as unchanged,
        deleted::float8
      from (${counts}) as counts`)
    summary[table] = { ...(row as Counts) }
  }
  return summary
}

const countsOf = ([type, table]: [RowType, string]) =>
  [
    table,
    `select
       (select count(*) from changed_${table} where is_new) as inserted,
       (select count(*) from changed_${table} where not is_new) as updated,
       (select count(*) from ${TABLES[type].name} i join ${table} t on t.id = i.id where i.deleted) as deleted,
       (select count(*) from ${TABLES[type].name}) ${type === 'assessment' ? ONLY_PARTS : ''} as staged`,
  ] as const

/** Assessments of which only the parts are staged. */
const ONLY_PARTS = `
  + (select count(distinct p.assessment_id) from import_parts p
     where p.apart and not exists (select from import_assessments a where a.id = p.assessment_id))`

/** The part `t` of the database goes, and becomes no part of another assessment. */
const IS_GONE = 'not exists (select from import_parts p where p.id = t.id)'

/** Parts of an assessment that does not change are unchanged. */
const PARTS = `
  select inserted, updated, deleted, (select count(*) from import_parts) + deleted as staged
  from (
    select
      count(*) filter (where t.id is null) as inserted,
      count(*) filter (where t.id is not null and not (${IS_SAME_PART})) as updated,
      (
        select count(*) from import_assessments a
        join assessment_parts t on t.assessment_id = a.id
        where a.deleted and ${IS_GONE}
      ) + (
        select count(*) from changed_assessments c
        join assessment_parts t on t.assessment_id = c.id
        where exists (select from import_parts p where p.assessment_id = c.id) and ${IS_GONE}
      ) as deleted
    from changed_assessments c
    join import_parts i on i.assessment_id = c.id
    left join assessment_parts t on t.id = i.id
  ) as changed`
