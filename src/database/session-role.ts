import { sql } from 'drizzle-orm'
import type { Sql, TransactionSql } from 'postgres'
import { Failure } from '../errors.ts'
import { rowsOf } from './orm.ts'
import { onlyRow } from './statement.ts'

/**
 * Refuses to write in a session that fires no triggers: with session_replication_role = replica, set for the database or the
 * role, nothing would be rendered, logged or kept from coming back.
 * @param undone the beginning of the message
 */
export async function requireFiringTriggers(db: Sql | TransactionSql, undone: string): Promise<void> {
  const { role } = onlyRow(
    await rowsOf<{ role: string }>(db, sql`select current_setting('session_replication_role') as role`),
  )
  if (role === 'replica')
    throw new Failure(
      `${undone}: with session_replication_role = replica this session fires no triggers, and the export would not follow: axport doctor says where that is set`,
    )
}
