import type { TransactionSql } from 'postgres'
import type { RowType } from './record.ts'

/** What is staged: each in a table of its own. */
export type StagedType = RowType | 'part' | 'removedPart' | 'reject' | 'text'

/** Columns and their types, besides line, id and deleted; `marks` say how a row was said, and are stored nowhere. */
interface StagingTable {
  name: string
  columns: Record<string, string>
  marks?: Record<string, string>
}

/**
 * The records of a source wait in temporary tables until the last one has been read: references may point
 * forward, and nothing is loaded when any record is bad. Temporary tables are not logged and go with the
 * transaction. `line` is the place of the record that a row came from, see placeOf(). A null is what the record does
 * not say, until settleStaging() has asked the database; a seid that the record clears is '' until then.
 */
export const TABLES: Record<StagedType, StagingTable> = {
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
    // `partless`: the record has neither parts nor a proctor; `clears_proctor`: it even says that there is no proctor.
    marks: { partless: 'boolean', clears_proctor: 'boolean' },
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
    },
    marks: { apart: 'boolean' },
  },
  // Rows that say that there is no such part.
  removedPart: { name: 'import_removed_parts', columns: { assessment_id: 'bigint' } },
  // Bad records. `id` is that of what was meant, where it is known; `assessment_id` that of the assessment
  // which cannot be loaded without the record; `user_id` that of the educator, where the record could be read;
  // `other_line` the place that completes the reason.
  reject: {
    name: 'import_rejects',
    columns: {
      type: 'text',
      assessment_id: 'bigint',
      user_id: 'bigint',
      reason: 'text',
      other_line: 'bigint',
    },
  },
  // What the records look like in the source, as JSON strings: they may hold what a text of Postgres cannot.
  text: { name: 'import_texts', columns: { text: 'text' } },
}

/** The staging table of each type, with the columns that the type's own table has too, besides id. */
export const STAGED = Object.fromEntries(
  (['organization', 'product', 'user', 'assessment'] as const).map(type => [
    type,
    { name: TABLES[type].name, columns: Object.keys(TABLES[type].columns) },
  ]),
) as Record<RowType, { name: string; columns: string[] }>

/** The columns of a staging table and their types. */
export const columnsOf = (type: StagedType): [string, string][] => [
  ['line', 'bigint'],
  ['id', 'bigint'],
  ['deleted', 'boolean'],
  ...Object.entries(TABLES[type].columns),
  ...Object.entries(TABLES[type].marks ?? {}),
]

/** Creates the staging tables in a transaction. */
export async function createStaging(sql: TransactionSql): Promise<void> {
  for (const type of Object.keys(TABLES) as StagedType[]) {
    const columns = columnsOf(type).map(column => column.join(' '))
    await sql.unsafe(`create temporary table ${TABLES[type].name} (${columns.join(', ')}) on commit drop`)
  }
}
