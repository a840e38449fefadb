import { type SQL, sql } from 'drizzle-orm'
import { exportRecords as r } from '../../db/schema.ts'
import type { Filter } from '../contract.ts'
import { isBigint } from '../parameters.ts'
import { SEARCHES, searchValues } from './search.ts'

/** Values of a statement's placeholders, by name. */
export type Values = Record<string, unknown>

/** The SQL of each filter but the search, and organizations and products, which narrow the two sets of the scope. */
const conditions: Record<string, SQL> = {
  start_date: sql`${r.certifiedOn} >= ${sql.placeholder('start_date')}::date`,
  end_date: sql`${r.certifiedOn} <= ${sql.placeholder('end_date')}::date`,
  user_ids: sql`${r.userId} = any (${sql.placeholder('user_ids')}::bigint[])`,
  seids: sql`${r.seid} = any (${sql.placeholder('seids')}::text[])`,
  proctor_ids: sql`${r.proctorIds} && ${sql.placeholder('proctor_ids')}::bigint[]`,
  user_record_status: sql`${r.isArchived} = (${sql.placeholder('user_record_status')} = 'archived')`,
  legacy_record: sql`${r.legacyRecord} = ${sql.placeholder('legacy_record')}::boolean`,
}

/** The names of what constrains anything in a filter, conditions and the search, and their values. */
export function constraints(filter: Filter): { filters: string[]; values: Values } {
  const values: Values = {
    start_date: filter.start_date,
    end_date: filter.end_date,
    user_ids: filter.user_ids?.filter(isBigint),
    seids: filter.seids,
    proctor_ids: filter.proctor_ids?.filter(isBigint),
    user_record_status: onlyOne(filter.user_record_status),
    legacy_record: onlyOne(filter.legacy_record),
    ...(filter.search && searchValues(filter.search)),
  }
  return { filters: NAMES.filter(name => values[name] !== undefined), values }
}

const NAMES = [...Object.keys(conditions), ...SEARCHES]

/** The value of a two-valued filter; both of them together constrain nothing. */
const onlyOne = <Value>(values: Value[] = []) => (new Set(values).size === 1 ? values[0] : undefined)

/** The conditions of these filters for a record, but for the search. */
export const conditionsOf = (filters: string[]): SQL[] => filters.flatMap(name => conditions[name] ?? [])

/** All of some conditions, a line each. */
export const allOf = (all: SQL[]): SQL => sql.join(all, and)

const and = sql`
      and `

/** Whether one of these filters leaves few records, which an index finds: a walk along the sort key might read all others first. */
export const isNarrow = (filters: string[]) =>
  ['user_ids', 'seids', 'proctor_ids'].some(name => filters.includes(name))
