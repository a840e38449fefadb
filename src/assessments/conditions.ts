import { type SQL, sql } from 'drizzle-orm'
import { exportRecords as r } from '../../db/schema.ts'
import type { Filter } from '../contract.ts'
import { isFound, SEARCHES, searchConstraint } from './search.ts'

/** Values of a statement's placeholders, by name. */
export type Values = Record<string, unknown>

/** The SQL of each filter but organizations and products, which narrow the scope's two sets (scope.ts). */
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
 * Filters that leave few records, of a thousand people at most, which an index finds. With them the records are found
 * first and sorted then: a walk along the sort key might read all other records before it meets these.
 */
export const NARROW_FILTERS = ['user_ids', 'seids', 'proctor_ids']

/** The filters that constrain anything, by name of their condition, each with the values it takes. */
export function constraints(filter: Filter): Record<string, Values> {
  const { search, start_date, end_date, seids } = filter
  const values: Values = {
    start_date,
    end_date,
    user_ids: filter.user_ids?.filter(isBigint),
    seids,
    proctor_ids: filter.proctor_ids?.filter(isBigint),
    user_record_status: onlyOne(filter.user_record_status),
    legacy_record: onlyOne(filter.legacy_record),
  }
  const given = Object.entries(values).filter(([, value]) => value !== undefined)
  const named = Object.fromEntries(given.map(([name, value]) => [name, { [name]: value }]))
  return search ? { ...named, ...searchConstraint(search) } : named
}

/** The value of a two-valued filter; both of them together constrain nothing. */
function onlyOne<Value>(values: Value[] | undefined): Value | undefined {
  const [first, ...others] = new Set(values)
  return others.length === 0 ? first : undefined
}

const MAX_BIGINT = 2n ** 63n - 1n

/** Whether an id is within bigint. Any other id is no error: it matches nothing. */
export function isBigint(id: string): boolean {
  const value = BigInt(id)
  return value <= MAX_BIGINT && value >= -MAX_BIGINT - 1n
}
