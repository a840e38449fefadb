import { type SQL, sql } from 'drizzle-orm'
import { exportRecords as r } from '../../db/schema.ts'
import type { Filter } from './parameters.ts'

/** Values of a statement's placeholders, by name. */
export type Values = Record<string, unknown>

const inOrganizations = sql`${r.organizationId} = any (${sql.placeholder('organizations')}::bigint[])`
const inProducts = sql`${r.productId} = any (${sql.placeholder('products')}::bigint[])`

/** The two sets that every statement over records is bound to, whatever else it asks for. */
export const inScope = sql`${inOrganizations}
      and ${inProducts}`

/**
 * The same without a look at the ids by the planner, to which coalesce() is a black box that is true half of
 * the time: weighing 400 of them takes longer than reading a page. For statements of which the plan is plain.
 * Both sets are in one box. In two they would be true a quarter of the time, and a page that skips a third of
 * all would seem to need all of them, which can as well be sorted.
 */
export const scopeUnseen = unseen(sql`${inOrganizations} and ${inProducts}`)
export const productsUnseen = unseen(inProducts)

function unseen(condition: SQL): SQL {
  return sql`coalesce(${condition}, false)`
}

/**
 * The SQL of each optional filter. Organizations and products are not among them: they narrow the scope's
 * own two sets before the statement runs, so that no request can be wider than its scope (spec 4.2, rule 4).
 */
export const conditions: Record<string, SQL> = {
  start_date: sql`${r.certifiedOn} >= ${sql.placeholder('start_date')}::date`,
  end_date: sql`${r.certifiedOn} <= ${sql.placeholder('end_date')}::date`,
  user_ids: sql`${r.userId} = any (${sql.placeholder('user_ids')}::bigint[])`,
  seids: sql`${r.seid} = any (${sql.placeholder('seids')}::text[])`,
  proctor_ids: sql`${r.proctorIds} && ${sql.placeholder('proctor_ids')}::bigint[]`,
  user_record_status: sql`${r.recordStatus} = ${sql.placeholder('user_record_status')}`,
  legacy_record: sql`${r.legacyRecord} = ${sql.placeholder('legacy_record')}::boolean`,
  search: sql`${r.searchText} like ${folded('phrase')}`,
  search_two_words: sql`(${r.searchText} like ${folded('phrase')} or ${r.searchText} like ${folded('full_name')})`,
}

/**
 * Filters that leave few records, which an index of their own finds: a thousand people's at most. With them the
 * records are found first and sorted then. The planner can not know that these very people may stand at the end
 * of the order, and would walk everybody's records to get there.
 */
export const NARROW_FILTERS = ['user_ids', 'seids', 'proctor_ids']

/** Filters that an index of their own finds as well, and that may leave few records or most. */
export const SEARCH_FILTERS = ['search', 'search_two_words']

/** Folded in the same way as search_text itself; the function is immutable, so the planner sees a constant. */
function folded(name: string): SQL {
  return sql`search_folded(${sql.placeholder(name)}::text)`
}

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
    ...(search && searchConstraint(search.trim())),
  }
}

/** The value of a two-valued filter; both of them together constrain nothing. */
function onlyOne<Value>(values: Value[] | undefined): Value | undefined {
  const [first, ...others] = new Set(values)
  return others.length === 0 ? first : undefined
}

/** LIKE patterns over search_text, which holds first name, last name and product name, a line each. */
function searchConstraint(search: string): Record<string, Values> {
  const literal = (text: string) => text.replaceAll(/[\\%_]/g, '\\$&')
  const phrase = `%${literal(search)}%`
  const words = search.split(/\s+/).map(literal)
  return words.length === 2
    ? { search_two_words: { phrase, full_name: `%${words[0]}%\n%${words[1]}%\n%` } }
    : { search: { phrase } }
}

const MAX_BIGINT = 2n ** 63n - 1n

/** An id beyond bigint is no error: it matches nothing. */
export function isBigint(id: string): boolean {
  const value = BigInt(id)
  return value <= MAX_BIGINT && value >= -MAX_BIGINT - 1n
}
