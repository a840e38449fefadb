import type { Sql, TransactionSql } from 'postgres'
import { SOURCE_TABLES } from '../../db/schema.ts'
import { LOCKS } from '../database/locks.ts'
import { requireFiringTriggers } from '../database/session-role.ts'
import { Failure } from '../errors.ts'

/** Acquires the lock that lets one load at a time run. `onWait` is called if another load holds it. */
export async function acquireLoadLock(sql: TransactionSql, onWait: () => void): Promise<void> {
  const [lock] = await sql<{ taken: boolean }[]>`select pg_try_advisory_xact_lock(${LOCKS.import}) as taken`
  if (lock?.taken) return
  onWait()
  await sql`select pg_advisory_xact_lock(${LOCKS.import})`
}

/** Sets the settings of a load, which end with its transaction. */
export async function configureLoad(sql: TransactionSql): Promise<void> {
  // A day without a time means its start in the platform's time zone.
  await sql`select set_config('TimeZone', time_zone, true) from export_state`
  // The load joins whole tables and builds indexes: with the default of 4 MB Postgres would use temporary files.
  await sql`
    select set_config(name, bytes / 1024 || 'kB', true)
    from (values ('work_mem', 64 * 1024 ^ 2), ('maintenance_work_mem', 256 * 1024 ^ 2)) as m (name, bytes)
    where pg_size_bytes(current_setting(name)) < bytes`
  await sql`set local jit = off`
  // Rows are written as arrays of their columns, with nulls.
  await sql`set local array_nulls = on`
  // A slow source leaves the transaction idle.
  await sql`set local idle_in_transaction_session_timeout = 0`
  // The statement of a load whose client was killed would hold the lock to its end.
  try {
    await sql.savepoint(savepoint => savepoint`set local client_connection_check_interval = '500ms'`)
  } catch (error) {
    // Invalid parameter value: servers on some systems do not have this setting.
    if ((error as { code?: string }).code !== '22023') throw error
  }
}

/**
 * Refuses a load while a trigger of the schema is disabled on a table that it writes, or if its session fires none:
 * nothing would be rendered.
 * @param undone the beginning of the message
 * @throws Failure with the statement that enables the triggers
 */
export async function requireTriggers(sql: TransactionSql, undone: string): Promise<void> {
  await requireFiringTriggers(sql, undone)
  for (const { table, which, names } of await disabledTriggers(sql, [...SOURCE_TABLES, 'export_records']))
    if (names.some(name => name.startsWith(`${table}_`)))
      throw new Failure(
        `${undone}: triggers of ${table} are disabled, and the export would not follow: alter table ${table} enable trigger ${which}, then axport refresh`,
      )
}

/** Finds the disabled triggers of tables. `which` enables them: "all" includes those that check foreign keys. */
export async function disabledTriggers(db: Sql | TransactionSql, tables: string[]) {
  return await db<{ table: string; which: 'all' | 'user'; names: string[] }[]>`
    select c.relname::text as table, case when bool_or(t.tgisinternal) then 'all' else 'user' end as which,
      array_agg(t.tgname::text order by t.tgname) as names
    from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where t.tgenabled not in ('O', 'A') and c.oid in (select to_regclass(name) from unnest(${tables}::text[]) as name)
    group by c.oid, c.relname order by 1`
}
