import type { Sql, TransactionSql } from 'postgres'
import { reasonOf } from '../postgres/failures.ts'
import { acquireLoadLock, requireTriggers } from '../postgres/schema/load-session.ts'

/** How an erasure is done, and watched. */
export interface ErasureOptions {
  /** Everything but the commit. */
  dryRun: boolean
  /** Called when an import is waited for. */
  onWait(): void
}

/** What was removed of a person, or would be. */
export interface Erasure {
  /** When the person was erased the first time, ISO 8601 in UTC; null if that is now. */
  erasedBefore: string | null
  /** Of which the person was the educator, and their parts. */
  assessments: number
  parts: number
  /** Assessments of others that the person proctored: there the person has no name any more. */
  proctored: number
  /** What became of the person's own row. */
  user: 'removed' | 'without a name' | 'not there'
  /** Why the files of the tables still have what was deleted; undefined where they do not. */
  unwiped: string | undefined
}

/** Leaves the transaction without a trace. */
class Undone extends Error {}

/**
 * Removes a person, and leaves a tombstone by which no load brings the person back: one transaction, for which imports
 * wait. Also for an id that the data does not have, and for one that is erased already.
 * @param userId decimal
 * @throws Failure where triggers are off, without which the export would go on to show the person
 * @throws PostgresError 42501 for a role that is not the owner of the tables
 */
export async function erasePerson(db: Sql, userId: string, options: ErasureOptions): Promise<Erasure> {
  const erasure = await inTurn(db, options, async sql => {
    await requireTriggers(sql, 'nobody was erased')
    return await erase(sql, userId)
  })
  const unwiped = options.dryRun ? undefined : await wipe(db).then(() => undefined, reasonOf)
  return { ...erasure, unwiped }
}

/**
 * Lifts a tombstone: the next load that has the person brings the person back. Returns when the person had been erased,
 * ISO 8601 in UTC; null for one who was not.
 */
export async function undoErasure(db: Sql, userId: string, onWait: () => void): Promise<string | null> {
  return await inTurn(db, { dryRun: false, onWait }, async sql => {
    const [row] = await sql<{ erasedAt: string }[]>`
      delete from erasures where user_id = ${userId}
      returning to_char(erased_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "erasedAt"`
    return row?.erasedAt ?? null
  })
}

/** Behind imports, which know the tombstones of their beginning, and behind whoever writes the source tables. */
async function inTurn<Result>(
  db: Sql,
  { dryRun, onWait }: ErasureOptions,
  work: (sql: TransactionSql) => Promise<Result>,
): Promise<Result> {
  let result: { value: Result } | undefined
  try {
    await db.begin('isolation level read committed', async sql => {
      await acquireLoadLock(sql, onWait)
      await sql`select lock_export()`
      result = { value: await work(sql) }
      if (dryRun) throw new Undone()
    })
  } catch (error) {
    if (!(error instanceof Undone)) throw error
  }
  return (result as { value: Result }).value
}

async function erase(sql: TransactionSql, userId: string): Promise<Omit<Erasure, 'unwiped'>> {
  const [before] = await sql<{ erasedAt: string }[]>`
    select to_char(erased_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "erasedAt"
    from erasures where user_id = ${userId}`
  await sql`insert into erasures (user_id) values (${userId}) on conflict (user_id) do nothing`
  const [removed] = await sql<{ assessments: string; parts: string; renamed: string; removed: string }[]>`
    select assessments_removed as assessments, parts_removed as parts, users_renamed as renamed, users_removed as removed
    from remove_people(array[${userId}::bigint])`
  const [left] = await sql<{ proctored: string; isThere: boolean }[]>`
    select
      (select count(distinct assessment_id) from assessment_parts where proctor_id = ${userId}) as proctored,
      exists (select from users where id = ${userId}) as "isThere"`
  await clearLog(sql, userId)
  return {
    erasedBefore: before?.erasedAt ?? null,
    assessments: Number(removed?.assessments),
    parts: Number(removed?.parts),
    proctored: Number(left?.proctored),
    user: left?.isThere ? 'without a name' : removed?.removed === '0' ? 'not there' : 'removed',
  }
}

/**
 * The log of changes has names by value: of the person's own records, and of those that the person proctored. Servers
 * that were to read what goes here are told that all may have changed.
 */
async function clearLog(sql: TransactionSql, userId: string): Promise<void> {
  await sql`delete from export_changes where user_id = ${userId} or ${userId}::bigint = any (proctor_ids)`
  await sql`select forget_export_facts()`
}

/**
 * What was deleted stays in tables and indexes until they are vacuumed, and names stay in the statistics of the planner until
 * the next analyze.
 */
async function wipe(db: Sql): Promise<void> {
  await db`
    vacuum (analyze, index_cleanup on) users, assessments, assessment_parts, export_records, export_people,
      export_changes`
}
