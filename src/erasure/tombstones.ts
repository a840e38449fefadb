import { desc, eq } from 'drizzle-orm'
import type { Sql, TransactionSql } from 'postgres'
import { erasures as e } from '../../db/schema.ts'
import { isoOf, orm } from '../database/orm.ts'

/** What is left of an erased person, and keeps every load from bringing the person back. */
export interface Tombstone {
  /** Decimal digits. */
  user_id: string
  /** ISO 8601 in UTC. */
  erased_at: string
  /** The role of the database that erased. */
  role: string
}

/** All tombstones, the newest first. @throws PostgresError 42501 for a role that may not read them */
export async function listTombstones(db: Sql): Promise<Tombstone[]> {
  return await orm(db)
    .select({
      user_id: e.userId,
      erased_at: isoOf(e.erasedAt),
      role: e.role,
    })
    .from(e)
    .orderBy(desc(e.erasedAt), e.userId)
}

/** When a person was erased, ISO 8601 in UTC; null if the person has no tombstone. */
export async function erasedAt(db: Sql | TransactionSql, userId: string): Promise<string | null> {
  const [row] = await orm(db)
    .select({ at: isoOf(e.erasedAt) })
    .from(e)
    .where(eq(e.userId, userId))
  return row?.at ?? null
}
