import { sql } from 'drizzle-orm'
import { READ_MODEL, type ReadModelTable } from '../../db/schema.ts'
import { rowsOf } from '../database/orm.ts'
import { onlyRow } from '../database/statement.ts'
import { firstThree } from '../errors.ts'
import { type Db, type Outcome, ok, wrong } from './finding.ts'

/** How many rows of each table are compared unless all are. */
const SAMPLE = 1000

/** Whether the export is what its source says: in random rows of each table, or (`isFull`) in every row and count. */
export async function compareExport(db: Db, isFull: boolean): Promise<Outcome> {
  const compared: string[] = []
  let hasSample = false
  for (const table of READ_MODEL) {
    const { rows, all, differing, first } = await compareTable(db, table, isFull)
    // Not every id has a row: that of an erased proctor has none.
    const isSample = !isFull && all > SAMPLE
    const what = isSample ? `${rows} of ${all} ${table.rows}` : `all ${rows} ${table.rows}`
    const differ = differing === 1 ? 'differs from its source' : 'differ from their source'
    if (differing > 0)
      return wrong(
        `${differing} of ${what} ${differ}, as ${table.source.slice(0, -1)} ${first}: axport refresh corrects them`,
      )
    compared.push(what)
    hasSample ||= isSample
  }
  const organizations = isFull ? await miscounted(db) : []
  if (organizations.length > 0)
    return wrong(`counts of organization ${firstThree(organizations)} differ: axport refresh corrects them`)
  const rest = hasSample ? '; not every row was compared, axport doctor --full does that' : ''
  return ok(`${compared[0]}, equal to their source${rest}`)
}

/** Compares rows with what their source renders, in one snapshot, in which both agree with the writes of others. */
async function compareTable(db: Db, { table, id, source }: ReadModelTable, isFull: boolean) {
  const rendered = sql`select * from ${sql.identifier(`${table}_rendered`)} v`
  // Rows of a sample are rendered one by one.
  const join = isFull
    ? sql`left join (${rendered}) v on v.${sql.identifier(id)} = known.id`
    : sql`left join lateral (${rendered} where v.${sql.identifier(id)} = known.id) v on true`
  return onlyRow(
    await rowsOf<{ rows: number; all: number; differing: number; first: string | null }>(
      db,
      sql`
      with known as materialized (
        select id, count(*) over () as all
        from (select id from ${sql.identifier(source)} union select ${sql.identifier(id)} from ${sql.identifier(table)}) as ids (id)
        ${isFull ? sql`` : sql`order by random() limit ${SAMPLE}`}
      )
      select count(*) filter (where is_there)::integer as rows,
        coalesce(max(known.all), 0)::integer as all,
        count(*) filter (where differs)::integer as differing,
        min(id) filter (where differs) as first
      from (
        select known.*, r.${sql.identifier(id)} is not null or v.${sql.identifier(id)} is not null as is_there, r is distinct from v as differs
        from known left join ${sql.identifier(table)} r on r.${sql.identifier(id)} = known.id ${join}
        -- So each pair of rows is compared once, and not for every use of the result.
        offset 0
      ) as known`,
    ),
  )
}

/** The organizations whose stored counts are not those of their records. */
async function miscounted(db: Db): Promise<string[]> {
  const rows = await rowsOf<{ organization_id: string }>(
    db,
    sql`
    select distinct organization_id
    from export_counts full join (
      select organization_id, product_id, count(*) as counted from export_records group by 1, 2
    ) as records using (organization_id, product_id)
    where export_counts.records is distinct from counted
    order by 1`,
  )
  return rows.map(row => row.organization_id)
}
