import type { TransactionSql } from 'postgres'
import { LOCKS } from '../database/advisory-locks.ts'

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
  // A slow source leaves the transaction idle.
  await sql`set local idle_in_transaction_session_timeout = 0`
}
