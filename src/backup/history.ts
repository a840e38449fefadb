import type { TransactionSql } from 'postgres'

/**
 * Restores integrations without new events in their history, which the backup contains. For a backup of an older schema,
 * each integration gets a row, as in the migration.
 */
export async function withoutHistory(sql: TransactionSql, restore: () => Promise<void>): Promise<void> {
  await sql`alter table integrations disable trigger integrations_history`
  await sql`alter table integration_secrets disable trigger integration_secrets_history`
  await restore()
  await sql`alter table integrations enable trigger integrations_history`
  await sql`alter table integration_secrets enable trigger integration_secrets_history`
  await sql`select note_found_integrations()`
}
