import type { TransactionSql } from 'postgres'
import { type RowType, TABLE_OF } from './record.ts'
import { STAGED } from './staging.ts'

/** What an import does to one type of row. */
interface Counts {
  inserted: number
  updated: number
  unchanged: number
  deleted: number
}

/** What an import does, by the names of the tables. */
export type Summary = Record<string, Counts>

/**
 * Finds the staged rows that differ from the database, before anything is checked or written: all that
 * follows looks at these alone, so that a file which changes nothing is read, compared and done with. They
 * are in changed_organizations and so on: id, and whether it is new.
 */
export async function findChanges(sql: TransactionSql): Promise<void> {
  for (const [type, table] of Object.entries(TABLE_OF) as [RowType, string][]) {
    const differing = type === 'assessment' ? ASSESSMENTS : `${differingRows(type)}`
    await sql.unsafe(`
      create temporary table changed_${table} on commit drop as
      select id, not exists (select from ${table} t where t.id = changed.id) as is_new
      from (${differing}) as changed`)
    await sql.unsafe(`analyze changed_${table}`)
  }
}

/** Staged rows of which the database has no equal. */
function differingRows(type: RowType): string {
  const { name, columns } = STAGED[type]
  return `
    select i.id from ${name} i
    where not i.deleted and not exists (
      select from ${TABLE_OF[type]} t where t.id = i.id and ${columns.map(equals).join(' and ')}
    )`
}

/** seid, and the name and date of a part, may be null. */
const equals = (column: string) =>
  ['seid', 'name', 'certified_at'].includes(column)
    ? `t.${column} is not distinct from i.${column}`
    : `t.${column} = i.${column}`

const IS_SAME_PART = ['assessment_id', 'position', 'proctor_id', 'name', 'certified_at']
  .map(equals)
  .join(' and ')

/** The part `t` of the database goes, and is no part of another assessment from now on. */
const IS_GONE = 'not exists (select from import_parts p where p.id = t.id)'

/**
 * An assessment also changes by its parts: a staged one that the database does not have as it is, or one of
 * the database that is no longer among the staged ones. Parts that are not staged at all stay.
 */
const ASSESSMENTS = `
  ${differingRows('assessment')}
  union
  select i.assessment_id from import_parts i
  where not exists (
    select from assessment_parts t
    where t.id = i.id and ${IS_SAME_PART}
  )
  union
  select t.assessment_id from assessment_parts t
  where exists (select from import_parts i where i.assessment_id = t.assessment_id)
    and not exists (select from import_parts i where i.id = t.id and i.assessment_id = t.assessment_id)`

/** Counts what is staged. What is to be deleted and not there counts as unchanged. */
export async function summarize(sql: TransactionSql): Promise<Summary> {
  const summary: Summary = {}
  for (const [type, table] of Object.entries(TABLE_OF) as [RowType, string][]) {
    const { name } = STAGED[type]
    const [row] = await sql.unsafe<Record<keyof Counts | 'staged', string>[]>(`
      select
        (select count(*) from changed_${table} where is_new) as inserted,
        (select count(*) from changed_${table} where not is_new) as updated,
        (select count(*) from ${name} i join ${table} t on t.id = i.id where i.deleted) as deleted,
        (select count(*) from ${name}) ${type === 'assessment' ? PARTS_ALONE : ''} as staged`)
    const [inserted, updated, deleted] = [Number(row?.inserted), Number(row?.updated), Number(row?.deleted)]
    const unchanged = Number(row?.staged) - inserted - updated - deleted
    summary[table] = { inserted, updated, unchanged, deleted }
  }
  const { inserted = 0, updated = 0, deleted = 0 } = summary.assessments ?? {}
  summary.assessment_parts =
    inserted + updated + deleted > 0 ? await countParts(sql) : await countUnchangedParts(sql)
  return summary
}

async function countUnchangedParts(sql: TransactionSql): Promise<Counts> {
  const [row] = await sql<{ count: string }[]>`select count(*) from import_parts`
  return { inserted: 0, updated: 0, unchanged: Number(row?.count), deleted: 0 }
}

/** The same for parts, of which those of an assessment that does not change are as they were. */
async function countParts(sql: TransactionSql): Promise<Counts> {
  const [row] = await sql.unsafe<Record<keyof Counts, string>[]>(`
    select
      count(*) filter (where t.id is null) as inserted,
      count(*) filter (where t.id is not null and not (${IS_SAME_PART})) as updated,
      (select count(*) from import_parts) - count(*) filter (where t.id is null or not (${IS_SAME_PART})) as unchanged,
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
    left join assessment_parts t on t.id = i.id`)
  return {
    inserted: Number(row?.inserted),
    updated: Number(row?.updated),
    unchanged: Number(row?.unchanged),
    deleted: Number(row?.deleted),
  }
}

/** Assessments of which only the parts are staged. */
const PARTS_ALONE = `
  + (select count(distinct p.assessment_id) from import_parts p
     where p.apart and not exists (select from import_assessments a where a.id = p.assessment_id))`
