import { type SQL, sql } from 'drizzle-orm'
import { exportRecords } from '../../db/schema.ts'
import type { Columns } from './columns.ts'
import { isFound, SEARCHES } from './search.ts'

/** The SQL of each filter but organizations and products, which narrow the two sets of the scope. */
export const conditions: Record<string, (columns: Columns) => SQL> = {
  start_date: ({ certifiedOn }) => sql`${certifiedOn} >= ${sql.placeholder('start_date')}::date`,
  end_date: ({ certifiedOn }) => sql`${certifiedOn} <= ${sql.placeholder('end_date')}::date`,
  user_ids: ({ userId }) => sql`${userId} = any (${sql.placeholder('user_ids')}::bigint[])`,
  seids: ({ seid }) => sql`${seid} = any (${sql.placeholder('seids')}::text[])`,
  proctor_ids: ({ proctorIds }) => sql`${proctorIds} && ${sql.placeholder('proctor_ids')}::bigint[]`,
  user_record_status: ({ isArchived }) =>
    sql`${isArchived} = (${sql.placeholder('user_record_status')} = 'archived')`,
  legacy_record: ({ legacyRecord }) => sql`${legacyRecord} = ${sql.placeholder('legacy_record')}::boolean`,
  ...Object.fromEntries(SEARCHES.map(search => [search, (columns: Columns) => isFound(search, columns)])),
}

/** The conditions of these filters for a record, or for a row of the log. */
export const conditionsOf = (filters: string[], columns: Columns = exportRecords): SQL[] =>
  filters.map(name => conditions[name]?.(columns) as SQL)

/** All of some conditions, a line each. */
export const allOf = (all: SQL[]): SQL => sql.join(all, and)

const and = sql`
      and `

/** Filters that leave few records, which an index finds: a walk along the sort key might read all others first. */
export const NARROW_FILTERS = ['user_ids', 'seids', 'proctor_ids']
