import type { Sql, TransactionSql } from 'postgres'
import { Failure } from '../errors.ts'
import { KEPT, LEFT_OUT } from './tables.ts'

/** Tables that have rows without any data, too; and tombstones, which keep an older backup from bringing people back. */
const NEVER_EMPTY = ['export_state', 'export_changes', 'disclosure_state', 'erasures', 'schema_migrations']

/**
 * Checks that the database has no data which a restore would mix with: the tables do not exist, or are empty.
 * @throws Failure that names the first table with rows
 */
export async function requireEmpty(db: Sql | TransactionSql): Promise<void> {
  const tables = [...KEPT.map(({ table }) => table), ...Object.keys(LEFT_OUT)]
  for (const table of tables.filter(table => !NEVER_EMPTY.includes(table))) {
    const [found] = await db<{ isThere: boolean }[]>`select to_regclass(${table}) is not null as "isThere"`
    if (!found?.isThere) continue
    const rows = await db`select from ${db(table)} limit 1`
    if (rows.count > 0)
      throw new Failure(
        `nothing was restored: the database is not empty, ${table} has rows: create a new one to restore into`,
      )
  }
}
