import type { Sql, TransactionSql } from 'postgres'
import type { SourceRecord } from '../record.ts'

/** The state of a feed between its rounds: in the database, and written in the transaction of the round. */
export interface Feed {
  /** Reads the state, in the import's transaction and before anything is read. */
  readState(sql: TransactionSql): Promise<void>
  /** Whether rows that earlier rounds left out wait for this one, which has been read. */
  isWaiting(sql: TransactionSql): Promise<boolean>
  /** Those of them that no staged row replaces. */
  readWaiting(sql: TransactionSql): Promise<SourceRecord[]>
  /** Keeps the rows that this round leaves out. They are in import_rejects. */
  keepRejects(sql: TransactionSql): Promise<void>
  /** Writes the state, in the import's transaction. The next round reads what has changed since this one. */
  writeState(sql: TransactionSql): Promise<void>
  /** Whether the round, once read, gave everything and not only changes. */
  isFull(): boolean
  /** The time from which changes were requested, by the platform's clock; undefined until it is read. */
  since(): string | undefined
  /** The time of the previous success, in Unix seconds; undefined before the first. */
  lastSuccess(): number | undefined
}

/** Whether the server runs autovacuum, which is enough for a few rows a minute; the embedded database does not. */
export async function isVacuumed(db: Sql): Promise<boolean> {
  // Only the server's own processes belong to no database. An ordinary role cannot see which one is the launcher.
  const [row] = await db<{ isVacuumed: boolean }[]>`
    select current_setting('autovacuum')::boolean and current_setting('track_counts')::boolean
      and exists (select from pg_stat_activity where datid is null) as "isVacuumed"`
  return row?.isVacuumed === true
}
