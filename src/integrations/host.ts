import { hostname } from 'node:os'
import type { TransactionSql } from 'postgres'

/**
 * Tells the database where a change comes from, for its history (0007_integration_history): a server sees no address
 * behind a unix socket.
 */
export async function nameHost(sql: TransactionSql): Promise<void> {
  await sql`select set_config('axport.host', ${hostname()}, true)`
}
