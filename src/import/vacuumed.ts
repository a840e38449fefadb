import type { Sql } from 'postgres'

/** Whether the server runs autovacuum, which is enough for a few rows a minute. */
export async function isVacuumed(db: Sql): Promise<boolean> {
  const [row] = await db<{ isVacuumed: boolean }[]>`
    select current_setting('autovacuum')::boolean and current_setting('track_counts')::boolean as "isVacuumed"`
  return row?.isVacuumed === true
}
