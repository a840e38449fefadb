import { sql } from 'drizzle-orm'
import type { Sql, TransactionSql } from 'postgres'
import { isoOf, rowsOf } from '../database/orm.ts'

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
  return await rowsOf<Tombstone>(
    db,
    sql`
    select user_id, ${isoOf(sql`erased_at`)} as erased_at, role, assessment_ids
    from erasures order by erasures.erased_at desc, user_id`,
  )
}

/** When a person was erased, ISO 8601 in UTC; null if the person has no tombstone. */
export async function erasedAt(db: Sql | TransactionSql, userId: string): Promise<string | null> {
  const [row] = await rowsOf<{ at: string }>(
    db,
    sql`
    select ${isoOf(sql`erased_at`)} as at from erasures where user_id = ${userId}`,
  )
  return row?.at ?? null
}
