import { sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { whyFailed } from '../database/failures.ts'
import { rowsOf } from '../database/orm.ts'

/**
 * VACUUM and ANALYZE after a commit: index-only scans need the one at once, and plans the other. Postgres only warns a role
 * that may not vacuum.
 * @param tables their names
 * @param isNeeded is asked first
 * @returns what remains to be done if it failed
 */
export async function vacuum(
  db: Sql,
  tables: string[],
  isNeeded = async () => true,
): Promise<string | undefined> {
  const statement = `vacuum (analyze) ${tables.join(', ')}`
  try {
    if (await isNeeded()) await db.unsafe(statement)
    return undefined
  } catch (error) {
    return `VACUUM failed (${whyFailed(error)}): pages may be slow until you run ${statement} in psql`
  }
}

/**
 * The same for all tables that have names of people. Deleted rows stay in tables and indexes until VACUUM, and names stay in
 * the planner's statistics until ANALYZE.
 * @returns why it failed; undefined if it succeeded
 */
export async function vacuumPeople(db: Sql): Promise<string | undefined> {
  return await rowsOf(
    db,
    sql`vacuum (analyze, index_cleanup on) users, assessments, assessment_parts, export_records, export_people`,
  ).then(() => undefined, whyFailed)
}
