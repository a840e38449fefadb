import type { TransactionSql } from 'postgres'

/** Called before each batch and at the end: `done` of `total` records are rendered. */
export type RenderProgress = (done: number, total: number) => void

/**
 * Records of one statement, a third for each of its calls. Each call reads all people, so smaller ones take longer; with more
 * records a call would write them to a file, because work_mem no longer holds them.
 */
const BATCH = 180_000

/** The ids of a batch in three ranges: past `a` up to `b`, past `b` up to `c`, past `c` up to `d`. */
interface Batch {
  a: string
  b: string
  c: string
  d: string
  count: number
}

/**
 * Does the work of the triggers for all assessments: renders and counts them, and makes another version.
 * @param total the number of assessments
 * @param most records of one statement; given by tests only
 */
export async function renderRecords(
  sql: TransactionSql,
  total: number,
  onRendered: RenderProgress,
  most = BATCH,
): Promise<void> {
  await sql`select lock_export()`
  // Without statistics the planner would join the tables by an index scan for every row.
  await sql`analyze assessments (id), assessment_parts (assessment_id), users (id)`
  const batches = await sql<Batch[]>`
    select
      min(id) - 1 as a,
      max(id) filter (where third % 3 = 1) as b,
      max(id) filter (where third % 3 = 2) as c,
      max(id) as d,
      count(*)::integer as count
    from (
      select id, ntile(${3 * Math.ceil(total / most)}) over (order by id) as third from assessments
    ) as assessments_in_thirds
    group by (third - 1) / 3
    order by a`
  let done = 0
  for (const batch of batches) {
    onRendered(done, total)
    await renderBatch(sql, batch)
    done += batch.count
  }
  onRendered(total, total)
  await sql`
    insert into export_counts
    select organization_id, product_id, count(*) from export_records group by 1, 2 order by 1, 2`
  await sql`select renew_export_version()`
}

/**
 * Renders three ranges at the same time: by default Postgres has two workers for a statement, beside the process of the
 * session. They go to a table of their own, because an insert has no parallel plan. Postgres takes about a hundred records of
 * one range at a time, so export_records stays nearly in the order of ids.
 */
async function renderBatch(sql: TransactionSql, { a, b, c, d }: Batch): Promise<void> {
  await sql`
    create temporary table pg_temp.import_rendered on commit drop as
    select * from export_records_between(${a}, ${b})
    union all select * from export_records_between(${b}, ${c})
    union all select * from export_records_between(${c}, ${d})`
  await sql`insert into export_records select * from pg_temp.import_rendered`
  await sql`drop table pg_temp.import_rendered`
}
