import { type SQL, sql } from 'drizzle-orm'
import { exportRecords as r } from '../../db/schema.ts'
import type { Filter } from './parameters.ts'
import { isFound, SEARCHES, searchConstraint } from './search.ts'

/** Values of a statement's placeholders, by name. */
export type Values = Record<string, unknown>

/**
 * The SQL of each optional filter. Organizations and products are not among them: they narrow the
 * scope's own two sets (scope.ts), so that no request can be wider than its scope (spec 4.2, rule 4).
 */
export const conditions: Record<string, SQL> = {
  start_date: sql`${r.certifiedOn} >= ${sql.placeholder('start_date')}::date`,
  end_date: sql`${r.certifiedOn} <= ${sql.placeholder('end_date')}::date`,
  user_ids: sql`${r.userId} = any (${sql.placeholder('user_ids')}::bigint[])`,
  seids: sql`${r.seid} = any (${sql.placeholder('seids')}::text[])`,
  proctor_ids: sql`${r.proctorIds} && ${sql.placeholder('proctor_ids')}::bigint[]`,
  user_record_status: sql`${r.isArchived} = (${sql.placeholder('user_record_status')} = 'archived')`,
  legacy_record: sql`${r.legacyRecord} = ${sql.placeholder('legacy_record')}::boolean`,
  ...Object.fromEntries(SEARCHES.map(search => [search, isFound(search)])),
}

/**
 * Filters that leave few records, which an index of their own finds: a thousand people's at most. With them the
 * records are found first and sorted then. The planner cannot know that these very people may stand at the end
 * of the order, and would walk everybody's records to get there.
 */
export const NARROW_FILTERS = ['user_ids', 'seids', 'proctor_ids']

/** The filters that constrain anything, by name of their condition, each with the values it takes. */
export function constraints(filter: Filter): Record<string, Values> {
  const { search, start_date, end_date, user_ids, seids, proctor_ids } = filter
  const status = onlyOne(filter.user_record_status)
  const legacy = onlyOne(filter.legacy_record)
  return {
    ...(start_date && { start_date: { start_date } }),
    ...(end_date && { end_date: { end_date } }),
    ...(user_ids && { user_ids: { user_ids: user_ids.filter(isBigint) } }),
    ...(seids && { seids: { seids } }),
    ...(proctor_ids && { proctor_ids: { proctor_ids: proctor_ids.filter(isBigint) } }),
    ...(status !== undefined && { user_record_status: { user_record_status: status } }),
    ...(legacy !== undefined && { legacy_record: { legacy_record: legacy } }),
    ...(search && searchConstraint(search)),
  }
}

/** The value of a two-valued filter; both of them together constrain nothing. */
function onlyOne<Value>(values: Value[] | undefined): Value | undefined {
  const [first, ...others] = new Set(values)
  return others.length === 0 ? first : undefined
}

const MAX_BIGINT = 2n ** 63n - 1n

/** An id beyond bigint is no error: it matches nothing. */
export function isBigint(id: string): boolean {
  const value = BigInt(id)
  return value <= MAX_BIGINT && value >= -MAX_BIGINT - 1n
}
