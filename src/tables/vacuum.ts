import { sql } from 'drizzle-orm'
import type { Sql } from 'postgres'
import { whyFailed } from '../database/failures.ts'
import { rowsOf } from '../database/orm.ts'
import { onlyRow } from '../database/statement.ts'

/**
 * VACUUM and ANALYZE of all tables that have names of people. Deleted rows stay in tables and indexes until VACUUM, and names
 * stay in the planner's statistics until ANALYZE.
 * @returns why it failed; undefined if it succeeded
 */
export async function vacuumPeople(db: Sql): Promise<string | undefined> {
  return await rowsOf(
    db,
    sql`vacuum (analyze, index_cleanup on) users, assessments, assessment_parts, export_records, export_people`,
  ).then(() => undefined, whyFailed)
}

/** Whether the role of the connection may run VACUUM. If not, Postgres skips the tables, and only warns. */
export async function mayVacuum(db: Sql): Promise<boolean> {
  return onlyRow(
    await rowsOf<{ isAllowed: boolean }>(
      db,
      sql`select pg_has_role(relowner, 'usage') as "isAllowed" from pg_class where oid = to_regclass('users')`,
    ),
  ).isAllowed
}
