import type { Sql } from 'postgres'
import { type CountDifference, compareCounts } from '../postgres/schema/read-model.ts'

/**
 * Counts the records anew of each organization in which a count differs from them. Each is a transaction of its own;
 * where no count differs, no lock is taken.
 * @param organizations those whose counts are looked at; undefined for all
 */
export async function refreshCounts(
  db: Sql,
  organizations: string[] | undefined,
): Promise<Omit<CountDifference, 'organizations'>> {
  const { compared, organizations: differing } = await compareCounts(db, organizations)
  const found = { compared, missing: 0, outdated: 0, left_over: 0 }
  for (const organization of differing) {
    const { missing, outdated, left_over } = await countAnew(db, organization)
    found.missing += missing
    found.outdated += outdated
    found.left_over += left_over
  }
  return found
}

/** Behind the queue of writers, and looked at there once more: somebody else may have been here in between. */
async function countAnew(db: Sql, organization: string): Promise<CountDifference> {
  const result = await db.begin('isolation level read committed', async sql => {
    await sql`select lock_export()`
    const found = await compareCounts(sql, [organization])
    // Servers remember a wrong count, too.
    if (found.organizations.length > 0)
      await sql`select refresh_export_counts(${[organization]}::bigint[]), forget_export_facts()`
    return [found] as const
  })
  return result[0]
}
