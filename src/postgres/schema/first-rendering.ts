import type { TransactionSql } from 'postgres'

/** What the triggers do of a first load, for one that had them off. Nobody else writes. */

/** The tables that are rendered here. */
export const RENDERED = ['export_people', 'export_records', 'export_counts']

/** Records of a round: whole tables are joined for each. */
const ROUND = 100_000

/** Renders the names of all people, for an empty `export_people`. */
export async function renderPeople(sql: TransactionSql): Promise<void> {
  await sql`insert into export_people select * from export_people_rendered`
}

/**
 * Renders all assessments, for an empty `export_records`, counts them, and logs that nothing that was remembered holds.
 * That no part has the id of an assessment has been checked.
 */
export async function renderRecords(
  sql: TransactionSql,
  onRendered: (done: number, total: number) => void,
): Promise<void> {
  await sql`select lock_export()`
  // Unanalyzed, the tables are joined by a look into an index for every row.
  await sql`analyze assessments (id), assessment_parts (assessment_id), users (id)`
  const [all] = await sql<{ count: string }[]>`select count(*) from assessments`
  const total = Number(all?.count)
  for (let after = '-9223372036854775808', done = 0; ; ) {
    onRendered(done, total)
    const [round] = await sql<{ last: string | null; count: string }[]>`
      select max(id) as last, count(*) as count
      from (select id from assessments where id > ${after} order by id limit ${ROUND}) as round`
    if (!round?.last) break
    await sql`
      insert into export_records
      select v.* from export_records_rendered v where v.id > ${after} and v.id <= ${round.last}`
    after = round.last
    done += Number(round.count)
  }
  await sql`
    insert into export_counts
    select organization_id, product_id, count(*) from export_records group by 1, 2 order by 1, 2`
  await sql`select forget_export_facts()`
}
