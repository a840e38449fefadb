import type { Sql, TransactionSql } from 'postgres'

/** The state of a feed between its rounds: in the database, and written in the transaction of the round. */
export interface Feed {
  /** Reads the state, in the import's transaction and before anything is read. */
  readState(sql: TransactionSql): Promise<void>
  /** Writes the state, in the import's transaction. Not called in a dry run, or when a record was left out. */
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
