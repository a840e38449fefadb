import type { TransactionSql } from 'postgres'
import type { RowType } from './record.ts'

/**
 * The records of a source wait in temporary tables until the last one has been read: references may point
 * forward, and nothing is loaded when any record is bad. Temporary tables are not logged and go with the
 * transaction. `line` is the place of the record that a row came from, see placeOf().
 */
export const TABLES = {
  organization: { name: 'import_organizations', columns: { name: 'text' } },
  product: { name: 'import_products', columns: { name: 'text' } },
  user: {
    name: 'import_users',
    columns: {
      name: 'text',
      first_name: 'text',
      last_name: 'text',
      email: 'text',
      seid: 'text',
      record_status: 'text',
    },
  },
  assessment: {
    name: 'import_assessments',
    columns: {
      user_id: 'bigint',
      organization_id: 'bigint',
      product_id: 'bigint',
      certified_at: 'timestamptz',
      legacy_record: 'boolean',
    },
  },
  // `apart`: arrived in a record of its own, and not with its assessment.
  part: {
    name: 'import_parts',
    columns: {
      assessment_id: 'bigint',
      position: 'integer',
      name: 'text',
      certified_at: 'timestamptz',
      proctor_id: 'bigint',
      apart: 'boolean',
    },
  },
  // Rows that say that there is no such part.
  removedPart: { name: 'import_removed_parts', columns: { assessment_id: 'bigint' } },
  // Bad records. `id` is that of what was meant, where it is known; `assessment_id` that of the assessment
  // which cannot be loaded without the record; `other_line` the place that completes the reason.
  reject: {
    name: 'import_rejects',
    columns: { type: 'text', assessment_id: 'bigint', reason: 'text', other_line: 'bigint' },
  },
  // What the records look like in the source, as JSON strings: they may hold what a text of Postgres cannot.
  text: { name: 'import_texts', columns: { text: 'text' } },
} as const

/** The staging table of each type, with its columns besides line, id and deleted. */
export const STAGED = Object.fromEntries(
  (['organization', 'product', 'user', 'assessment'] as const).map(type => [
    type,
    { name: TABLES[type].name, columns: Object.keys(TABLES[type].columns) },
  ]),
) as Record<RowType, { name: string; columns: string[] }>

/** What is staged: each in a table of its own. */
export type StagedType = keyof typeof TABLES

/** The columns of a staging table and their types. */
export const columnsOf = (type: StagedType): [string, string][] => [
  ['line', 'bigint'],
  ['id', 'bigint'],
  ['deleted', 'boolean'],
  ...Object.entries(TABLES[type].columns),
]

/** Creates the staging tables in a transaction. */
export async function createStaging(sql: TransactionSql): Promise<void> {
  for (const type of Object.keys(TABLES) as StagedType[]) {
    const columns = columnsOf(type).map(column => column.join(' '))
    await sql.unsafe(`create temporary table ${TABLES[type].name} (${columns.join(', ')}) on commit drop`)
  }
}

/**
 * After the last record: of several for one id the last one holds, and an assessment's parts are those that
 * came with it. Then the planner is told what is there, or it takes the tables for empty.
 * @param unordered types of which an id may have come twice
 */
export async function settleStaging(
  sql: TransactionSql,
  unordered: Set<RowType>,
  hasPartsApart: boolean,
): Promise<void> {
  for (const type of unordered) await keepLast(sql, STAGED[type].name)
  if (unordered.has('assessment')) {
    await sql`
      delete from import_parts p
      where not coalesce(p.apart, false)
        and not exists (select from import_assessments a where a.line = p.line and not a.deleted)`
  }
  if (hasPartsApart) {
    await keepLast(sql, 'import_parts')
    await sql`
      with removed as (delete from import_parts where deleted returning line, id, assessment_id)
      insert into import_removed_parts (line, id, assessment_id) select line, id, assessment_id from removed`
    await numberParts(sql)
  }
  await sql`analyze import_organizations, import_products, import_users, import_assessments, import_parts`
}

async function keepLast(sql: TransactionSql, table: string): Promise<void> {
  const condition = table === 'import_parts' ? 'apart' : 'true'
  await sql.unsafe(`
    delete from ${table} t
    using (select id, max(line) as line from ${table} where ${condition} group by id having count(*) > 1) as last
    where ${condition} and t.id = last.id and t.line <> last.line`)
}

/** The same numbers that parts get which come with their assessment: from 1, in the order of the source. */
async function numberParts(sql: TransactionSql): Promise<void> {
  await sql`
    update import_parts p set position = numbered.position
    from (
      select line, row_number() over (partition by assessment_id order by position nulls last, line) as position
      from import_parts where apart
    ) as numbered
    where p.apart and p.line = numbered.line`
}
