import type { Sql } from 'postgres'
import { until } from '../../../support/until.ts'

/**
 * Waits until no other connection runs a statement: Postgres continues a statement after its client has disconnected.
 */
export async function untilIdle(sql: Sql): Promise<void> {
  const isIdle = async () => {
    const busy = await sql`
      select from pg_stat_activity
      where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`
    return busy.length === 0
  }
  await until('no other connection runs a statement', isIdle, 60_000)
}
