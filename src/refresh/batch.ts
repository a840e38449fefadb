import type { Fragment, Sql } from 'postgres'
import type { ReadModelTable } from '../postgres/schema/read-model.ts'

/** The ids behind `after` that one round looks at, and those of them that are not what their source renders to. */
export interface Round {
  compared: number
  /** The largest id; null when there are none left. */
  last: string | null
  differing: string[]
}

/** Ids that one round compares: what a writer may have to wait for is a transaction of some tenths of a second. */
const ROUND = 2000

/**
 * Compares the next rows in one snapshot: what somebody writes at the moment differs in none.
 * @param organizations those whose rows are compared; undefined for all
 */
export async function compareRound(
  db: Sql,
  part: ReadModelTable,
  organizations: string[] | undefined,
  after: string,
): Promise<Round> {
  const { table, id, source } = part
  const [round] = await db<Round[]>`
    with known as materialized (
      select id from (
        (select id from ${db(source)} where id > ${after} ${within(db, table, organizations, true)} order by id limit ${ROUND})
        union
        (
          select ${db(id)} as id from ${db(table)}
          where ${db(id)} > ${after} ${within(db, table, organizations, false)} order by 1 limit ${ROUND}
        )
      ) as either
      order by id limit ${ROUND}
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
  return round ?? { compared: 0, last: null, differing: [] }
}

/** The condition on the source, or on the read model. Products are few: all of them are always compared. */
function within(db: Sql, table: string, organizations: string[] | undefined, ofSource: boolean): Fragment {
  if (organizations === undefined || table === 'export_products') return db``
  const isTheirs = db`organization_id = any (${organizations}::bigint[])`
  if (table === 'export_records') return db`and ${isTheirs}`
  if (ofSource) return db`and id in (select user_id from assessments where ${isTheirs})`
  // Nobody knows of which organization those were whose user and records are gone.
  return db`and user_id in (
    select user_id from export_records where ${isTheirs}
    union all
    select p.user_id from export_people p
    where not exists (select from users u where u.id = p.user_id)
      and not exists (select from export_records r where r.user_id = p.user_id)
  )`
}
