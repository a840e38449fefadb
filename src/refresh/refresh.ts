import type { Sql, TransactionSql } from 'postgres'
import { Failure, firstThree } from '../errors.ts'
import { compareCounts, READ_MODEL, type ReadModelTable } from '../postgres/schema/read-model.ts'
import { compareBatch } from './compare.ts'

/** The rows of one table of the read model that were repaired. */
interface Repaired {
  /** The source had a row, and the read model had none. */
  missing: number
  /** Both had a row, and the rows differed. */
  outdated: number
  /** The read model had a row that the source does not render. */
  left_over: number
}

/** The rows of one table of the read model that were compared and repaired. */
export interface Found extends Repaired {
  compared: number
}

/** By the names of the tables without "export_". A row of counts is of one organization and product. */
interface Refreshed {
  records: Found
  people: Found
  products: Found
  counts: Found
}

/**
 * Renders the rows that differ from their source anew, which happens only after writes without triggers, and then counts
 * the records anew where a count differs. Each batch is a transaction of its own; a batch without a difference takes no
 * lock.
 * @param organizations those whose records are compared; undefined for all
 * @param onCompared called with the number of rows compared so far
 * @throws Failure for an unknown organization, and if the row with the time zone is missing
 */
export async function refresh(
  db: Sql,
  organizations: string[] | undefined,
  onCompared: (rows: number) => void,
): Promise<Refreshed> {
  await requireState(db)
  if (organizations) await requireKnown(db, organizations)
  const refreshed = { records: nothing(), people: nothing(), products: nothing(), counts: nothing() }
  let rows = 0
  for (const table of READ_MODEL) {
    const found = refreshed[nameOf(table)]
    for (let after = '-9223372036854775808'; ; ) {
      const { compared, last, differing } = await compareBatch(db, table, organizations, after)
      if (last === null) break
      found.compared += compared
      if (differing.length > 0) add(found, await renderAnew(db, table, differing))
      rows += compared
      onCompared(rows)
      after = last
    }
  }
  const { compared, organizations: miscounted } = await compareCounts(db, organizations)
  refreshed.counts.compared = compared
  for (const organization of miscounted) add(refreshed.counts, await countAnew(db, organization))
  const changed = Object.values(refreshed).some(found => found.missing + found.outdated + found.left_over > 0)
  // Index-only scans need the visibility map.
  if (changed) await db`vacuum (analyze) export_records, export_people, export_counts`
  return refreshed
}

const nothing = (): Found => ({ compared: 0, missing: 0, outdated: 0, left_over: 0 })

function add(found: Found, { missing, outdated, left_over }: Repaired): void {
  found.missing += missing
  found.outdated += outdated
  found.left_over += left_over
}

const nameOf = ({ table }: ReadModelTable) =>
  table.replace('export_', '') as Exclude<keyof Refreshed, 'counts'>

/** Without the row of export_state the views render nothing, and all records would be deleted. */
async function requireState(db: Sql): Promise<void> {
  const [state] = await db`select from export_state`
  if (!state) {
    throw new Failure(
      "export_state is empty, its one row was deleted: insert into export_state (time_zone) values ('Area/City')",
    )
  }
}

/** Without this a mistyped id would compare no rows, and the result would look as if no row differed. */
async function requireKnown(db: Sql, organizations: string[]): Promise<void> {
  const unknown = await db<{ id: string }[]>`
    select id from unnest(${organizations}::bigint[]) as id
    where not exists (select from organizations o where o.id = id.id)
      and not exists (select from assessments a where a.organization_id = id.id)
      and not exists (select from export_records r where r.organization_id = id.id)`
  if (unknown.length > 0)
    throw new Failure(`there is no organization ${firstThree(unknown.map(({ id }) => id))}: check the ids`)
}

async function renderAnew(db: Sql, { table, id }: ReadModelTable, ids: string[]): Promise<Repaired> {
  return await asWriter(db, async sql => {
    const [row] = await sql<{ missing: number; outdated: number; leftOver: string[] }[]>`
      select
        (count(*) filter (where r.${sql(id)} is null))::integer as missing,
        (count(*) filter (where r.${sql(id)} = v.${sql(id)}))::integer as outdated,
        coalesce(array_agg(known.id) filter (where v.${sql(id)} is null), '{}') as "leftOver"
      from unnest(${ids}::bigint[]) as known (id)
      left join ${sql(table)} r on r.${sql(id)} = known.id
      left join lateral (select * from ${sql(`${table}_rendered`)} v where v.${sql(id)} = known.id) v on true
      where r is distinct from v`
    const { missing = 0, outdated = 0, leftOver = [] } = row ?? {}
    await sql`select ${sql(`refresh_${table}`)}(${ids}::bigint[]), forget_export_facts()`
    // The function keeps the record of an assessment that has an invalid reference, and so cannot be rendered.
    await sql`delete from ${sql(table)} where ${sql(id)} = any (${leftOver}::bigint[])`
    return { missing, outdated, left_over: leftOver.length }
  })
}

async function countAnew(db: Sql, organization: string): Promise<Repaired> {
  return await asWriter(db, async sql => {
    const found = await compareCounts(sql, [organization])
    // Servers remember counts, too.
    if (found.organizations.length > 0)
      await sql`select refresh_export_counts(${[organization]}::bigint[]), forget_export_facts()`
    return found
  })
}

/** Runs `work` behind the queue of writers. It compares again: another writer may have repaired the rows meanwhile. */
async function asWriter(db: Sql, work: (sql: TransactionSql) => Promise<Repaired>): Promise<Repaired> {
  const result = await db.begin('isolation level read committed', async sql => {
    await sql`select lock_export()`
    return [await work(sql)] as const
  })
  return result[0]
}
