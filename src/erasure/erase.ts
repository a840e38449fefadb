import { sql } from 'drizzle-orm'
import type { TransactionSql } from 'postgres'
import { orm, rowsOf } from '../database/orm.ts'
import { type CommandSql, transact } from '../database/transact.ts'
import { requireTriggers } from '../database/triggers.ts'
import { acquireLoadLock } from '../tables/load-session.ts'
import { vacuumPeople } from '../tables/vacuum.ts'
import { erasedAt } from './tombstones.ts'

/** The options of an erasure. */
interface ErasureOptions {
  /** Everything but the commit. */
  dryRun: boolean
  /** Called when the erasure has to wait for an import. */
  onWait(): void
}

/** The rows of a person that were removed; in a dry run, those that would be. */
export interface Erasure {
  /** The time of an earlier erasure of the person, ISO 8601 in UTC. */
  erasedBefore: string | null
  /** Assessments with the person as educator, and their parts. */
  assessments: number
  parts: number
  /** Assessments of others that the person proctored, where the name was removed. */
  proctored: number
  /** The person's own row. */
  user: 'removed' | 'without a name' | 'not there'
  /** Why VACUUM failed, so that the deleted rows are still in the files of the tables; undefined if it succeeded. */
  vacuumFailure: string | undefined
}

/** Rolls the transaction back. */
class Undone extends Error {}

/**
 * Removes a person and leaves a tombstone, which keeps every load from bringing the person back. One transaction; imports
 * wait for it. The id may be unknown, or erased already.
 * @param userId decimal
 * @throws Failure if triggers are disabled: the export would still show the person
 * @throws PostgresError 42501 for a role that is not the owner of the tables
 */
export async function erasePerson(db: CommandSql, userId: string, options: ErasureOptions): Promise<Erasure> {
  const erasure = await inTurn(db, options, async client => {
    await requireTriggers(client, 'nobody was erased')
    return await erase(client, userId)
  })
  const vacuumFailure = options.dryRun ? undefined : await vacuumPeople(db)
  return { ...erasure, vacuumFailure }
}

/**
 * Removes a tombstone: the next load with the person brings the person back. What is in the source tables, past the
 * triggers, is rendered again. Returns the time of the erasure, ISO 8601 in UTC; null if the person was not erased.
 * @throws Failure if triggers are disabled
 */
export async function removeTombstone(
  db: CommandSql,
  userId: string,
  onWait: () => void,
): Promise<string | null> {
  return await inTurn(db, { dryRun: false, onWait }, async client => {
    await requireTriggers(client, 'the tombstone was not removed')
    const tx = orm(client)
    const erased = await erasedAt(client, userId)
    await tx.execute(sql`delete from erasures where user_id = ${userId}`)
    // A standby that has not replayed it would go on to show the documents of before.
    if (erased !== null) await tx.execute(sql`select renew_export_version()`)
    await tx.execute(sql`
      select refresh_export_people(array[${userId}::bigint]), refresh_export_records(array(
        select id from assessments where user_id = ${userId}
        union
        select assessment_id from assessment_parts where proctor_id = ${userId}
      ))`)
    return erased
  })
}

/** Runs after imports, which know only the tombstones of their begin, and after other writers of the source tables. */
async function inTurn<Result>(
  db: CommandSql,
  { dryRun, onWait }: ErasureOptions,
  work: (client: TransactionSql) => Promise<Result>,
): Promise<Result> {
  let result: Result | undefined
  try {
    return await transact(db, async client => {
      await acquireLoadLock(client, onWait)
      await orm(client).execute(sql`select lock_export()`)
      result = await work(client)
      if (dryRun) throw new Undone()
      return result
    })
  } catch (error) {
    if (error instanceof Undone) return result as Result
    throw error
  }
}

async function erase(client: TransactionSql, userId: string): Promise<Omit<Erasure, 'vacuumFailure'>> {
  const erasedBefore = await erasedAt(client, userId)
  await orm(client).execute(sql`
    insert into erasures (user_id) values (${userId}) on conflict (user_id) do nothing`)
  const [removed] = await rowsOf<{ assessments: string; parts: string; renamed: string; removed: string }>(
    client,
    sql`
    select assessments_removed as assessments, parts_removed as parts, users_renamed as renamed, users_removed as removed
    from remove_people(array[${userId}::bigint])`,
  )
  const [left] = await rowsOf<{ proctored: string; isThere: boolean }>(
    client,
    sql`
    select
      (select count(distinct assessment_id) from assessment_parts where proctor_id = ${userId}) as proctored,
      exists (select from users where id = ${userId}) as "isThere"`,
  )
  return {
    erasedBefore,
    assessments: Number(removed?.assessments),
    parts: Number(removed?.parts),
    proctored: Number(left?.proctored),
    user: left?.isThere ? 'without a name' : removed?.removed === '0' ? 'not there' : 'removed',
  }
}
