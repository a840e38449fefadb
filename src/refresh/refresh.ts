import type { Fragment, Sql } from 'postgres'
import { READ_MODEL, type ReadModelTable } from '../../db/schema.ts'
import { Failure, firstThree } from '../errors.ts'
import { requireFiringTriggers } from '../postgres/schema/session-role.ts'
import { type CommandSql, transact } from '../postgres/transaction/transact.ts'
import { compareCounts, compareRows, type Difference } from '../tables/read-model.ts'
import { vacuum } from '../tables/vacuum.ts'

/** Ids in a batch: repairing it blocks other writers for some tenths of a second. */
const BATCH = 2000

/**
 * Renders rows that differ from their source anew, then counts anew where a count differs, of all or these organizations.
 * Each batch is a transaction; one without a difference takes no lock.
 * @param onRows is called after each batch of rows, and for the counts, with the number of rows so far
 * @returns what was repaired, by table
 * @throws as transact(); Failure if VACUUM fails
 */
export async function refresh(
  db: CommandSql,
  organizations: string[] | undefined,
  onRows: (compared: number) => void,
) {
  await requireFiringTriggers(db, 'nothing was refreshed')
  // Without the row of export_state the views render nothing, and all records would be deleted.
  if ((await db`select from export_state`).length === 0)
    throw new Failure("export_state has no row: insert into export_state (time_zone) values ('Area/City')")
  if (organizations) await requireKnown(db, organizations)
  const refreshed = { records: nothing(), people: nothing(), products: nothing(), counts: nothing() }
  let rows = 0
  for (const table of READ_MODEL) {
    const found = refreshed[table.table.replace('export_', '') as 'records' | 'people' | 'products']
    for (let after = '-9223372036854775808'; ; ) {
      const ids = idsAfter(db, table, organizations, after)
      const { compared, last, differing } = await compareRows(db, table, ids, db`order by id limit ${BATCH}`)
      if (last === null) break
      found.compared += compared
      if (differing.length > 0) add(found, await renderAnew(db, table, differing))
      rows += compared
      onRows(rows)
      after = last
    }
  }
  const { compared, organizations: miscounted } = await compareCounts(db, organizations)
  refreshed.counts.compared = compared
  for (const organization of miscounted) {
    add(refreshed.counts, await countAnew(db, organization))
    onRows(rows)
  }
  const written = ['export_records', 'export_people', 'export_counts', 'export_changes']
  const remains = repairedIn(refreshed) > 0 ? await vacuum(db, written) : undefined
  if (remains !== undefined) throw new Failure(`all was refreshed, and ${remains}`)
  return refreshed
}

const repairedIn = (refreshed: Record<string, Difference>) =>
  Object.values(refreshed).reduce(
    (sum, { missing, outdated, left_over }) => sum + missing + outdated + left_over,
    0,
  )

const nothing = (): Difference => ({ compared: 0, missing: 0, outdated: 0, left_over: 0 })

function add(found: Difference, repaired: Difference): void {
  for (const kind of ['missing', 'outdated', 'left_over'] as const) found[kind] += repaired[kind]
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

/** SQL: the next ids of the source and of the read model, at least as many as a batch has. */
function idsAfter(
  db: Sql,
  { table, id, source }: ReadModelTable,
  organizations: string[] | undefined,
  after: string,
): Fragment {
  const condition = db`organization_id = any (${organizations ?? []}::bigint[])`
  let [ofSource, ofTable] = [condition, condition]
  // Products are few: all of them are always compared.
  if (organizations === undefined || table === 'export_products') [ofSource, ofTable] = [db`true`, db`true`]
  else if (table === 'export_people') {
    ofSource = db`id in (select user_id from assessments where ${condition})`
    // The organization of people whose user and records were deleted is unknown: they are always compared.
    ofTable = db`user_id in (
      select user_id from export_records where ${condition}
      union all
      select p.user_id from export_people p
      where not exists (select from users u where u.id = p.user_id)
        and not exists (select from export_records r where r.user_id = p.user_id)
    )`
  }
  return db`
    (select id from ${db(source)} where id > ${after} and ${ofSource} order by id limit ${BATCH})
    union
    (select ${db(id)} from ${db(table)} where ${db(id)} > ${after} and ${ofTable} order by 1 limit ${BATCH})`
}

/** Repairs a batch behind the queue of writers. Another writer may have repaired rows meanwhile: it compares again. */
async function renderAnew(db: CommandSql, table: ReadModelTable, ids: string[]): Promise<Difference> {
  return await transact(db, async sql => {
    await sql`select lock_export()`
    const found = await compareRows(sql, table, sql`select unnest(${ids}::bigint[])`, sql``)
    await sql`select ${sql(`refresh_${table.table}`)}(${ids}::bigint[]), log_any_change()`
    // The function keeps the record of an assessment that has an invalid reference, and so cannot be rendered.
    await sql`delete from ${sql(table.table)} where ${sql(table.id)} = any (${found.leftOver}::bigint[])`
    return found
  })
}

/** The same for the counts of an organization. */
async function countAnew(db: CommandSql, organization: string): Promise<Difference> {
  return await transact(db, async sql => {
    await sql`select lock_export()`
    const found = await compareCounts(sql, [organization])
    // Servers remember counts, too.
    await sql`select refresh_export_counts(${[organization]}::bigint[]), log_any_change()`
    return found
  })
}
