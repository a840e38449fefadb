import type { Sql } from 'postgres'

/** Whether the server runs autovacuum, which is enough for a few rows a minute; the embedded database does not. */
export async function isVacuumed(db: Sql): Promise<boolean> {
  // Only the server's own processes belong to no database. An ordinary role cannot see which one is the launcher.
  const [row] = await db<{ isVacuumed: boolean }[]>`
    select current_setting('autovacuum')::boolean and current_setting('track_counts')::boolean
      and exists (select from pg_stat_activity where datid is null) as "isVacuumed"`
  return row?.isVacuumed === true
}
