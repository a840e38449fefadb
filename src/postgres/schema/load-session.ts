import type { TransactionSql } from 'postgres'
import { Failure } from '../../errors.ts'
import { LOCKS } from './locks.ts'

/** What a load, an import or a restore, needs of the database besides its tables. */

/** One load at a time. `onWait` is called when there is another one. */
export async function waitForTurn(sql: TransactionSql, onWait: () => void): Promise<void> {
  const [lock] = await sql<{ taken: boolean }[]>`select pg_try_advisory_xact_lock(${LOCKS.import}) as taken`
  if (lock?.taken) return
  onWait()
  await sql`select pg_advisory_xact_lock(${LOCKS.import})`
}

/**
 * Settings for a load's transaction. `set local` alone: the connections to the embedded database share
 * one session.
 */
export async function settle(sql: TransactionSql): Promise<void> {
  // A day without a time means its start in the platform's time zone (design, import format).
  await sql`select set_config('TimeZone', time_zone, true) from export_state`
  // Whole tables are compared and indexes are built: with 4 MB each of these would go through files.
  for (const [name, bytes] of [
    ['work_mem', 64 * 2 ** 20],
    ['maintenance_work_mem', 256 * 2 ** 20],
  ] as const) {
    await sql`
      select set_config(${name}, ${`${bytes / 1024}kB`}, true)
      where pg_size_bytes(current_setting(${name})) < ${bytes}`
  }
  await sql`set local jit = off`
  // A source may take its time.
  await sql`set local idle_in_transaction_session_timeout = 0`
  await noticeLeaving(sql)
}

/**
 * A load past the triggers would render nothing and look as if all was well.
 * @param undone what was not done because of that
 * @throws Failure when some of ours are off on a table that it writes
 */
export async function requireTriggers(sql: TransactionSql, undone = 'nothing was loaded'): Promise<void> {
  const [off] = await sql<{ table: string; which: string }[]>`
    select c.oid::regclass::text as table, case when bool_or(t.tgisinternal) then 'all' else 'user' end as which
    from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where t.tgenabled in ('D', 'R')
      and c.oid in (
        select to_regclass(name)
        from unnest('{organizations,products,users,assessments,assessment_parts,export_records}'::text[]) as name
      )
    group by c.oid having bool_or(starts_with(t.tgname, c.relname || '_'))
    order by 1`
  if (off)
    throw new Failure(
      `${undone}: triggers of ${off.table} are disabled, and the export would not follow: alter table ${off.table} enable trigger ${off.which}, then axport refresh`,
    )
}

/** A load that is killed must not run its statement to the end: the lock would stay with it. */
async function noticeLeaving(sql: TransactionSql): Promise<void> {
  try {
    await sql.savepoint(savepoint => savepoint`set local client_connection_check_interval = '500ms'`)
  } catch (error) {
    // The embedded database, and servers on some systems, cannot.
    if ((error as { code?: string }).code !== INVALID_PARAMETER_VALUE) throw error
  }
}

const INVALID_PARAMETER_VALUE = '22023'
