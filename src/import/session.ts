import type { Sql, TransactionSql } from 'postgres'
import type { Summary } from './changes.ts'

/** Notes that an import is done, also one that left lines out or wrote nothing; its writes have taken the lock on that row before. */
export async function noteImport(sql: TransactionSql): Promise<void> {
  await sql`update export_state set last_import_at = clock_timestamp()`
}

/** Whether the server vacuums by itself, which is enough for a few rows a minute; the embedded database does not. */
export async function isVacuumed(db: Sql): Promise<boolean> {
  // Only the server's own processes are of no database; which of them is the launcher, an ordinary role is not told.
  const [row] = await db<{ isVacuumed: boolean }[]>`
    select current_setting('autovacuum')::boolean and current_setting('track_counts')::boolean
      and exists (select from pg_stat_activity where datid is null) as "isVacuumed"`
  return row?.isVacuumed === true
}

/**
 * Index-only scans need the visibility map that only VACUUM writes, and good plans need statistics; after a
 * bulk load neither waits for autovacuum. A role that may not vacuum a table is only warned by Postgres.
 */
export async function vacuumChanged(db: Sql, summary: Summary): Promise<void> {
  const changed = Object.entries(summary)
    .filter(([, { inserted, updated, deleted }]) => inserted + updated + deleted > 0)
    .map(([table]) => table)
  if (changed.length === 0) return
  // A rename changes records too.
  changed.push('export_records', 'export_people', 'export_products', 'export_counts')
  await db.unsafe(`vacuum (analyze) ${changed.join(', ')}`)
}
