import type { Sql, TransactionSql } from 'postgres'

/**
 * Replaces the source tables, even if a failed test left a transaction open: two assessments of four users,
 * one of them with two parts, and a third assessment without parts.
 */
export const START = `
  rollback;
  delete from assessments; delete from organizations; delete from products; delete from users;
  insert into organizations values (1, 'Lakeside'), (2, 'Hillside'), (3, 'Nobody is here');
  insert into products values (1, 'Reading'), (2, 'Writing'), (3, 'Never taken');
  insert into users (id, name) values (1, 'Ana'), (2, 'Bo'), (3, 'Cy'), (4, 'Di');
  insert into assessments values (1, 1, 1, 1, '2024-03-10T05:00Z'), (2, 2, 1, 2, '2024-03-10T05:00Z'), (3, 2, 2, 1, '2024-03-10T05:00Z');
  insert into assessment_parts values (1, 1, 1, null, null, 3), (11, 2, 1, 'One', now(), 3), (12, 2, 2, 'Two', now(), 4);
  update export_state set time_zone = 'UTC'`

/**
 * The differences between the read model and its views, between the counts and the records, and ids that both
 * an assessment and a part of another one have.
 */
export async function differences(sql: Sql): Promise<string[]> {
  const rows = await sql<{ line: string }[]>`
    (select 'stored: ' || to_jsonb(r)::text as line from (table export_records except all table export_records_rendered) r)
    union all
    (select 'source: ' || to_jsonb(r)::text from (table export_records_rendered except all table export_records) r)
    union all
    (select 'stored: ' || to_jsonb(r)::text from (table export_people except all table export_people_rendered) r)
    union all
    (select 'source: ' || to_jsonb(r)::text from (table export_people_rendered except all table export_people) r)
    union all
    (select 'stored: ' || to_jsonb(r)::text from (table export_products except all table export_products_rendered) r)
    union all
    (select 'source: ' || to_jsonb(r)::text from (table export_products_rendered except all table export_products) r)
    union all
    (
      select 'counted: ' || to_jsonb(c)::text from (
        table export_counts except all select organization_id, product_id, count(*) from export_records group by 1, 2
      ) c
    )
    union all
    (
      select 'records: ' || to_jsonb(c)::text from (
        select organization_id, product_id, count(*) as records from export_records group by 1, 2 except all table export_counts
      ) c
    )
    union all
    select 'shared id: ' || a.id from assessment_parts p join assessments a on a.id = p.id where p.assessment_id <> a.id`
  return rows.map(row => row.line)
}

/** Runs `work` in a transaction that is rolled back, and returns the result. */
export async function undone<Result>(
  sql: Sql,
  work: (sql: TransactionSql) => Promise<Result>,
): Promise<Result> {
  const rolledBack = new Error('rolled back')
  let result: Result | undefined
  await sql
    .begin(async transaction => {
      result = await work(transaction)
      throw rolledBack
    })
    .catch(error => {
      if (error !== rolledBack) throw error
    })
  return result as Result
}
