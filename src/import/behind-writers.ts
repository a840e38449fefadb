import type { TransactionSql } from 'postgres'
import { onlyRow } from '../database/statement.ts'

/**
 * Compares while others may write, then takes the lock behind which writers queue. If a writer has committed since the
 * comparison began, compares once more, behind that lock: the rows that it wrote may be among those that were equal.
 * After that, all that `compare` has found stays true until the end of the transaction.
 */
export async function compareBehindWriters<Result>(
  sql: TransactionSql,
  compare: (sql: TransactionSql) => Promise<Result>,
): Promise<Result> {
  try {
    return await sql.savepoint(async savepoint => {
      const writer = await lastWriter(savepoint)
      const result = await compare(savepoint)
      if ((await lastWriter(savepoint, true)) !== writer) throw OVERTAKEN
      return result as never
    })
  } catch (error) {
    if (error !== OVERTAKEN) throw error
  }
  await sql`select lock_export()`
  return await compare(sql)
}

/** Rolls the comparison back. */
const OVERTAKEN = new Error('another transaction has written meanwhile')

/** The transaction that last wrote: lock_export() updates the row (db/migrations/0003). Locked, it is the last for now. */
async function lastWriter(sql: TransactionSql, isLocked = false): Promise<string> {
  const lock = isLocked ? sql`for update` : sql``
  return onlyRow(await sql<{ id: string }[]>`select xmin::text as id from export_state ${lock}`).id
}
