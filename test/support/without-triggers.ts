import type { Sql } from 'postgres'

/** Runs statements as replication and pg_restore do: no trigger fires, and no foreign key is checked. */
export async function withoutTriggers(sql: Sql, statements: string): Promise<void> {
  await sql.begin(async transaction => {
    await transaction`set local session_replication_role = replica`
    await transaction.unsafe(statements)
  })
}
