import type { Fragment, Sql } from 'postgres'
import type { ReadModelTable } from '../postgres/schema/read-model.ts'

/** The ids after the last batch, and those whose row differs from its source. */
interface Batch {
  compared: number
  /** The largest id; null if there are none. */
  last: string | null
  differing: string[]
}

/** Ids in a batch: repairing it blocks other writers for some tenths of a second. */
const BATCH = 2000

/**
 * Compares the next rows in one snapshot, in which a row and its source always agree with the writes of others.
 * @param organizations those whose rows are compared; undefined for all
 * @param after the largest id of the last batch
 */
export async function compareBatch(
  db: Sql,
  { table, id, source }: ReadModelTable,
  organizations: string[] | undefined,
  after: string,
): Promise<Batch> {
  const [batch] = await db<Batch[]>`
    with known as materialized (
      select id from (
        (select id from ${db(source)} where id > ${after} ${isOf(db, table, organizations, true)} order by id limit ${BATCH})
        union
        (
          select ${db(id)} as id from ${db(table)}
          where ${db(id)} > ${after} ${isOf(db, table, organizations, false)} order by 1 limit ${BATCH}
        )
      ) as either
      order by id limit ${BATCH}
    )
    select
      (select count(*)::integer from known) as compared,
      (select max(id) from known) as last,
      array(
        select known.id from known
        left join ${db(table)} r on r.${db(id)} = known.id
        left join lateral (select * from ${db(`${table}_rendered`)} v where v.${db(id)} = known.id) v on true
        where r is distinct from v
        order by known.id
      ) as differing`
  return batch ?? { compared: 0, last: null, differing: [] }
}

/** SQL: the condition on the source, or on the read model. Products are few: all of them are always compared. */
function isOf(db: Sql, table: string, organizations: string[] | undefined, ofSource: boolean): Fragment {
  if (organizations === undefined || table === 'export_products') return db``
  const condition = db`organization_id = any (${organizations}::bigint[])`
  if (table === 'export_records') return db`and ${condition}`
  if (ofSource) return db`and id in (select user_id from assessments where ${condition})`
  // The organization of people whose user and records were deleted is unknown: they are always compared.
  return db`and user_id in (
    select user_id from export_records where ${condition}
    union all
    select p.user_id from export_people p
    where not exists (select from users u where u.id = p.user_id)
      and not exists (select from export_records r where r.user_id = p.user_id)
  )`
}
