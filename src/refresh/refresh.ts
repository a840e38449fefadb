import type { Sql } from 'postgres'
import { Failure, firstThree } from '../errors.ts'
import { READ_MODEL, type ReadModelTable } from '../postgres/schema/read-model.ts'
import { compareRound } from './batch.ts'
import { refreshCounts } from './counts.ts'

/** What was found in one table of the read model, and rendered anew. */
export interface Found {
  compared: number
  /** The source had a row, and the read model none. */
  missing: number
  /** Both had one, and they differed. */
  outdated: number
  /** The read model had a row of which the source renders none. */
  left_over: number
}

/** By the names of the tables without "export_"; a count is of the records of one organization and product. */
export interface Refreshed {
  records: Found
  people: Found
  products: Found
  counts: Found
}

/**
 * Renders anew what is not what its source renders to, because somebody wrote past the triggers, and then counts anew
 * where a count is not that of the records. Each round of rows is a transaction of its own, and a round in which nothing
 * differs takes no lock.
 * @param organizations those whose records are looked at; undefined for all
 * @param onCompared told how many rows have been compared
 * @throws Failure for an organization that is nowhere, or where nothing can be rendered, because the time zone is lost
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
  for (const part of READ_MODEL) {
    const found = refreshed[nameOf(part)]
    for (let after = '-9223372036854775808'; ; ) {
      const { compared, last, differing } = await compareRound(db, part, organizations, after)
      if (last === null) break
      found.compared += compared
      if (differing.length > 0) {
        const { missing, outdated, left_over } = await renderAnew(db, part, differing)
        found.missing += missing
        found.outdated += outdated
        found.left_over += left_over.length
      }
      rows += compared
      onCompared(rows)
      after = last
    }
  }
  // Last: the records are what is counted.
  refreshed.counts = await refreshCounts(db, organizations)
  const changed = Object.values(refreshed).some(found => found.missing + found.outdated + found.left_over > 0)
  // As after an import: index-only scans need the visibility map.
  if (changed) await db`vacuum (analyze) export_records, export_people, export_counts`
  return refreshed
}

/** Without its one row the views render nothing, and all records would be left over. */
async function requireState(db: Sql): Promise<void> {
  const [state] = await db`select from export_state`
  if (!state) {
    throw new Failure(
      "export_state is empty, its one row was deleted: insert into export_state (time_zone) values ('Area/City')",
    )
  }
}

/** A mistyped id would else compare nothing, and look as if all was well. */
async function requireKnown(db: Sql, organizations: string[]): Promise<void> {
  const unknown = await db<{ id: string }[]>`
    select id from unnest(${organizations}::bigint[]) as id
    where not exists (select from organizations o where o.id = id.id)
      and not exists (select from assessments a where a.organization_id = id.id)
      and not exists (select from export_records r where r.organization_id = id.id)`
  if (unknown.length > 0)
    throw new Failure(`there is no organization ${firstThree(unknown.map(({ id }) => id))}: check the ids`)
}

const nothing = (): Found => ({ compared: 0, missing: 0, outdated: 0, left_over: 0 })

const nameOf = ({ table }: ReadModelTable) =>
  table.replace('export_', '') as Exclude<keyof Refreshed, 'counts'>

/** Behind the queue of writers, and looked at there once more: somebody else may have been here in between. */
async function renderAnew(db: Sql, part: ReadModelTable, ids: string[]): Promise<Difference> {
  const { table, id } = part
  const result = await db.begin('isolation level read committed', async sql => {
    await sql`select lock_export()`
    const [found = NO_DIFFERENCE] = await sql<Difference[]>`
      select
        (count(*) filter (where r.${sql(id)} is null))::integer as missing,
        (count(*) filter (where r.${sql(id)} = v.${sql(id)}))::integer as outdated,
        coalesce(array_agg(known.id) filter (where v.${sql(id)} is null), '{}') as left_over
      from unnest(${ids}::bigint[]) as known (id)
      left join ${sql(table)} r on r.${sql(id)} = known.id
      left join lateral (select * from ${sql(`${table}_rendered`)} v where v.${sql(id)} = known.id) v on true
      where r is distinct from v`
    await sql`select ${sql(`refresh_${table}`)}(${ids}::bigint[]), forget_export_facts()`
    // Where references were not checked either, an assessment may be there of which nothing can be rendered.
    await sql`delete from ${sql(table)} where ${sql(id)} = any (${found.left_over}::bigint[])`
    return [found] as const
  })
  return result[0]
}

/** As `Found`, with the ids of what is left over. */
interface Difference {
  missing: number
  outdated: number
  left_over: string[]
}

const NO_DIFFERENCE: Difference = { missing: 0, outdated: 0, left_over: [] }
