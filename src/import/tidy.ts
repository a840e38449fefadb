import type { Sql } from 'postgres'
import { vacuum } from '../tables/vacuum.ts'
import type { Summary } from './changes.ts'
import type { ImportSource } from './source-rows.ts'

/**
 * Vacuums the tables that a load has changed, after its commit.
 * @returns what remains to be done if that failed
 */
export async function tidy(db: Sql, { feed }: ImportSource, summary: Summary): Promise<string | undefined> {
  const changed = Object.entries(summary)
    .filter(([, { inserted, updated, deleted }]) => inserted + updated + deleted > 0)
    .map(([table]) => table)
  if (changed.length === 0) return undefined
  // A rename changes records, too.
  changed.push('export_records', 'export_people', 'export_products', 'export_counts')
  // A round of a feed changes few rows, for which autovacuum is enough.
  const isRound = feed !== undefined && !feed.isFull()
  return await vacuum(db, changed, async () => !isRound || !(await isVacuumed(db)))
}

/** Whether the server runs autovacuum, which is enough for a few rows a minute. */
export async function isVacuumed(db: Sql): Promise<boolean> {
  const [row] = await db<{ isVacuumed: boolean }[]>`
    select current_setting('autovacuum')::boolean and current_setting('track_counts')::boolean as "isVacuumed"`
  return row?.isVacuumed === true
}
