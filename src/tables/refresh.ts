import { sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { READ_MODEL, type ReadModelTable } from '../../db/schema.ts'
import { bigints, rowsOf } from '../database/orm.ts'
import { onlyRow } from '../database/statement.ts'
import { type CommandSql, transact } from '../database/transact.ts'
import { requireFiringTriggers } from '../database/triggers.ts'
import { Failure } from '../errors.ts'
import { mayVacuum, vacuumPeople } from './vacuum.ts'

/** What is wrong, and what to do, if the row of export_state was deleted. */
export const EXPORT_STATE_EMPTY =
  'export_state is empty, its one row was deleted: insert into export_state default values, then axport migrate --time-zone ZONE'

/** Ids in a batch. Other writers wait some tenths of a second for one. */
const BATCH = 2000

/** How many rows of each table of the read model were written or deleted. */
export interface Refreshed {
  /** Erased people whose rows were removed from the source tables. */
  erased: number
  records: number
  people: number
  products: number
  /** Why VACUUM failed, so that the deleted rows are still in the files of the tables; undefined if it succeeded or was not needed. */
  vacuumFailure: string | undefined
}

/**
 * Makes the export equal to its source, after writes past the triggers. Removes erased people from the source tables,
 * renders what differs from the views, deletes what has no source, counts anew, and makes another version of the export.
 * Each batch is a transaction, so that other writers wait for a batch and not for all. What a batch has committed is right,
 * whatever becomes of the next one. Readers never wait.
 * @param onBatch is called after each batch with the number of ids so far
 * @throws as transact(); Failure
 */
export async function refresh(db: CommandSql, onBatch: (ids: number) => void): Promise<Refreshed> {
  await requireFiringTriggers(db, 'nothing was refreshed')
  // Without the row of export_state the views render nothing, and all records would be deleted.
  if ((await rowsOf(db, sql`select from export_state`)).length === 0) throw new Failure(EXPORT_STATE_EMPTY)
  const refreshed = { erased: await removeErased(db), records: 0, people: 0, products: 0 }
  let seen = 0
  for (const table of READ_MODEL) {
    for (let after: string | undefined = LEAST; after !== undefined; ) {
      const ids: string[] = await idsAfter(db, table, after)
      const differing = await differingOf(db, table, ids)
      if (differing.length > 0) await renderAnew(db, table, differing)
      refreshed[table.key] += differing.length
      seen += ids.length
      onBatch(seen)
      after = ids.at(-1)
    }
  }
  await countAnew(db)
  return { ...refreshed, vacuumFailure: await vacuumAfter(db, refreshed.erased) }
}

/** Vacuums the tables of people. A role that may not has failed only if people were erased whose rows have to be gone. */
async function vacuumAfter(db: CommandSql, erased: number): Promise<string | undefined> {
  if (await mayVacuum(db)) return await vacuumPeople(db)
  return erased > 0 ? 'this role may not run it' : undefined
}

/** The least bigint: no row has it as its id. */
const LEAST = '-9223372036854775808'

/** What was written past the triggers may have people who were erased, as the dump of an earlier day does. */
async function removeErased(db: CommandSql): Promise<number> {
  return await transact(db, async client => {
    const { people } = onlyRow(
      await rowsOf<{ people: string }>(
        client,
        sql`
        select people_found as people from remove_people(array(select user_id from erasures))`,
      ),
    )
    return Number(people)
  })
}

/** The next ids of the source and of the read model, ascending. */
async function idsAfter(db: Sql, { table, id, source }: ReadModelTable, after: string): Promise<string[]> {
  const rows = await rowsOf<{ id: string }>(
    db,
    sql`
    select id from (
      (select id from ${sql.identifier(source)} where id > ${after} order by id limit ${BATCH})
      union
      (select ${sql.identifier(id)} from ${sql.identifier(table)} where ${sql.identifier(id)} > ${after} order by 1 limit ${BATCH})
    ) as ids
    order by id limit ${BATCH}`,
  )
  return rows.map(row => row.id)
}

/** Those whose row is not as its view renders it. Read in one snapshot, without a lock. */
async function differingOf(db: Sql, { table, id }: ReadModelTable, ids: string[]): Promise<string[]> {
  const rows = await rowsOf<{ id: string }>(
    db,
    sql`
    select given.id
    from unnest(${bigints(ids)}) as given (id)
    left join ${sql.identifier(table)} r on r.${sql.identifier(id)} = given.id
    left join lateral (select * from ${sql.identifier(`${table}_rendered`)} v where v.${sql.identifier(id)} = given.id) v on true
    where r is distinct from v`,
  )
  return rows.map(row => row.id)
}

/** Renders rows as they are now: another writer may have changed them since they were compared. */
async function renderAnew(db: CommandSql, { table, id }: ReadModelTable, ids: string[]): Promise<void> {
  await transact(db, async client => {
    await rowsOf(client, sql`select lock_export()`)
    await rowsOf(client, sql`select ${sql.identifier(`refresh_${table}`)}(${bigints(ids)})`)
    // The function keeps the record of an assessment whose user, organization or product is gone.
    await rowsOf(
      client,
      sql`
      delete from ${sql.identifier(table)} r
      where ${sql.identifier(id)} = any (${bigints(ids)})
        and (select v.${sql.identifier(id)} from ${sql.identifier(`${table}_rendered`)} v where v.${sql.identifier(id)} = r.${sql.identifier(id)}) is null`,
    )
  })
}

/** Somebody may have written the read model itself. So every server counts its lists again, also if every row was right. */
async function countAnew(db: CommandSql): Promise<void> {
  await transact(db, async client => {
    await rowsOf(client, sql`select lock_export()`)
    await rowsOf(
      client,
      sql`
      select refresh_export_counts(array(
        select organization_id from export_records union select organization_id from export_counts
      ))`,
    )
    await rowsOf(client, sql`select renew_export_version()`)
  })
}
