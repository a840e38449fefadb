import type { TransactionSql } from 'postgres'
import type { Runner } from '../statement.ts'

/** What a transaction writes, and what is there afterwards if and only if the transaction was committed. */
export interface Receipt {
  leave(sql: TransactionSql): PromiseLike<unknown>
  isThere(db: Runner): Promise<boolean>
}

/** A row of commit_receipts (db/migrations/0012). */
export function newReceipt(): Receipt {
  const receipt = crypto.randomUUID()
  return {
    leave: sql => sql`select leave_receipt(${receipt}::uuid)`,
    isThere: async db => {
      const text = 'select from commit_receipts where receipt = $1::uuid'
      const rows = (await db.unsafe(text, [receipt], { prepare: false })) as object[]
      return rows.length > 0
    },
  }
}
