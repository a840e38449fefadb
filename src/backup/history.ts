import type { TransactionSql } from 'postgres'

/**
 * Lets integrations come back without an event: the backup has their history. One of a schema without it gets a row for
 * each integration, as the migration gives one to those that it finds.
 */
export async function withoutHistory(sql: TransactionSql, restore: () => Promise<void>): Promise<void> {
  await sql`alter table integrations disable trigger integrations_history`
  await sql`alter table integration_secrets disable trigger integration_secrets_history`
  await restore()
  await sql`alter table integrations enable trigger integrations_history`
  await sql`alter table integration_secrets enable trigger integration_secrets_history`
  await sql`select note_found_integrations()`
}
