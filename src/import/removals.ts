import type { TransactionSql } from 'postgres'
import { onlyRow } from '../database/statement.ts'
import { Failure } from '../errors.ts'
import { exceeds, type Limit } from '../limit.ts'
import type { Summary } from './changes.ts'
import { ROW_TYPES, syncFile, TABLE_OF, type Type } from './source-rows.ts'

/** Stages the removal of every row that the source does not name, not even in a bad row, as a deletion by the source. */
export async function stageRemovals(sql: TransactionSql, types: Type[]): Promise<void> {
  for (const type of ROW_TYPES) {
    if (!types.includes(type)) continue
    const table = TABLE_OF[type]
    const parts =
      type === 'assessment'
        ? `and not exists (select from import_assessment_parts p where p.assessment_id = t.id)
           and not exists (select from import_removed_parts p where p.assessment_id = t.id)
           and not exists (select from import_rejects r where r.assessment_id = t.id)`
        : ''
    await sql.unsafe(
      `insert into import_${table} (file, line, id, deleted)
       select $1::integer, row_number() over (order by t.id), t.id, true
       from ${table} t
       where not exists (select from import_${table} i where i.id = t.id)
         and not exists (select from import_rejects r where r.id = t.id and r.type = $2)
         ${parts}`,
      [syncFile(type), type],
    )
  }
  await sql`analyze import_organizations, import_products, import_users, import_assessments`
}

/** Which removals are limited, and to how much of each table. */
interface RemovalLimit {
  most: Limit
  /** Counts what the source itself removes, too, as the soft deletes of a platform; otherwise only what --sync removes. */
  isOfFeed: boolean
  isSync: boolean
  /** What to type to remove them once, with this option. */
  again(option: string): string
}

/** Checks the rows to remove from each table, and the parts that assessments lose. @throws Failure if they are too many */
export async function limitRemovals(sql: TransactionSql, limit: RemovalLimit): Promise<void> {
  const { most, isOfFeed, isSync, again } = limit
  // Of a small table, a share would be none; --sync compares complete tables.
  const least = 'percent' in most && !isSync ? 10 : 0
  const counts: { table: string; removed: number; total: number }[] = []
  for (const { table, removed, all } of REMOVED) {
    const count = await countOf(sql, removed(isOfFeed))
    if (count > least) counts.push({ table, removed: count, total: await countOf(sql, all) })
  }
  const excesses = counts.filter(({ removed, total }) => exceeds(most, removed, total))
  if (excesses.length === 0) return
  const found = excesses.map(({ table, removed, total }) => `${removed} of ${total} ${table}`).join(' and ')
  const allowed = 'count' in most ? most.count : `${most.percent}%`
  // A number holds for each table, also for those that are within a share.
  const enough = Math.max(...counts.map(({ removed }) => removed))
  throw new Failure(
    `nothing was loaded: ${isSync ? '--sync' : 'the round'} would remove ${found}, more than ${allowed}: check the source; to remove them once: ${again(`--max-removed ${enough}`)}`,
  )
}

const countOf = async (sql: TransactionSql, from: string) =>
  onlyRow(await sql.unsafe<{ count: number }[]>(`select count(*)::float8 as count ${from}`)).count

/** Separate parts that are stored, and that an assessment of which others are given no longer has. */
const GONE = `
  from changed_assessments c
  join assessment_parts t on t.assessment_id = c.id
  where t.id <> t.assessment_id
    and exists (select from import_assessment_parts p where p.assessment_id = c.id)
    and not exists (select from import_assessment_parts p where p.id = t.id)
    and not exists (select from import_rejects r where r.assessment_id = c.id)`

/** Those that no row removes. */
const LOST = `${GONE} and not exists (select from import_removed_parts r where r.id = t.id)`

/** The removed rows of each table, and all rows of which they are a share. */
const REMOVED = [
  ...ROW_TYPES.map(type => TABLE_OF[type]).map(table => ({
    table,
    removed: (isOfFeed: boolean) =>
      isOfFeed
        ? `from import_${table} i join ${table} t on t.id = i.id where i.deleted`
        : `from import_${table} i where i.deleted and i.file < 0`,
    all: `from ${table}`,
  })),
  {
    table: TABLE_OF.part,
    removed: (isOfFeed: boolean) => (isOfFeed ? GONE : LOST),
    all: 'from assessment_parts where id <> assessment_id',
  },
]

/** Adds the removed rows to those of earlier loads, after they were removed: removals below the limit can add up. */
export async function countRemovals(sql: TransactionSql, summary: Summary): Promise<void> {
  for (const [table, { deleted }] of Object.entries(summary))
    if (deleted > 0)
      await sql`
        update removals
        set removed = removed + ${deleted}::bigint, remaining = (select count(*) from ${sql(table)})
        where table_name = ${table}`
}

/** The number of assessments that lose parts, and the ids of the first three. */
export interface LostParts {
  records: number
  first: number[]
}

/** Finds assessments that lose parts because the source gives others of their parts. */
export async function findLostParts(sql: TransactionSql): Promise<LostParts> {
  return onlyRow(
    await sql.unsafe<LostParts[]>(`
      select count(*)::float8 as records, coalesce((array_agg(id order by id))[:3], '{}')::float8[] as first
      from (select distinct c.id ${LOST}) as losers`),
  )
}
