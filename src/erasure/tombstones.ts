import type { Sql, TransactionSql } from 'postgres'
import { iso } from '../database/statement.ts'

/** What is left of an erased person, and keeps every load from bringing the person back. */
interface Tombstone {
  /** Decimal digits. */
  user_id: string
  /** ISO 8601 in UTC. */
  erased_at: string
  /** The role of the database that erased. */
  role: string
  /** Assessments that are known as those of the person, ascending. */
  assessment_ids: string[]
}

/** All tombstones, the newest first. @throws PostgresError 42501 for a role that may not read them */
export async function listTombstones(db: Sql): Promise<Tombstone[]> {
  return await db<Tombstone[]>`
    select user_id, ${iso(db, db`erased_at`)} as erased_at, role, assessment_ids
    from erasures order by erasures.erased_at desc, user_id`
}

/** When a person was erased, ISO 8601 in UTC; null if the person has no tombstone. */
export async function erasedAt(db: Sql | TransactionSql, userId: string): Promise<string | null> {
  const [row] = await db<{ at: string }[]>`
    select ${iso(db, db`erased_at`)} as at from erasures where user_id = ${userId}`
  return row?.at ?? null
}
