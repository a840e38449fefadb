import type { TransactionSql } from 'postgres'
import type { Row, RowType } from './rows.ts'

/**
 * The lines of a file wait in temporary tables until the last one has been read: references may point
 * forward, and nothing is loaded when any line is bad. Temporary tables are not logged and go with the
 * transaction. `line` is where a row came from.
 */
const TABLES = {
  organization: {
    name: 'import_organizations',
    columns: 'line bigint, id bigint, deleted boolean, name text',
  },
  product: {
    name: 'import_products',
    columns: 'line bigint, id bigint, deleted boolean, name text',
  },
  user: {
    name: 'import_users',
    columns:
      'line bigint, id bigint, deleted boolean, name text, first_name text, last_name text, email text, seid text, record_status text',
  },
  assessment: {
    name: 'import_assessments',
    columns:
      'line bigint, id bigint, deleted boolean, user_id bigint, organization_id bigint, product_id bigint, certified_at timestamptz, legacy_record boolean',
  },
  part: {
    name: 'import_parts',
    columns:
      'line bigint, assessment_id bigint, id bigint, position integer, name text, certified_at timestamptz, proctor_id bigint',
  },
} as const

type StagedType = RowType | 'part'

/** Creates the staging tables in a transaction. */
export async function createStaging(sql: TransactionSql): Promise<void> {
  for (const { name, columns } of Object.values(TABLES)) {
    await sql.unsafe(`create temporary table ${name} (${columns}) on commit drop`)
  }
}

/** Rows on their way into the staging tables; a full batch is written at once. */
export class StagingBatch {
  private rows: Record<StagedType, Row[]> = {
    organization: [],
    product: [],
    user: [],
    assessment: [],
    part: [],
  }
  private size = 0

  constructor(
    private readonly sql: TransactionSql,
    private readonly limit = 5000,
  ) {}

  /** Adds a row; when it fills the batch, resolves after the batch has been written. */
  async add(type: StagedType, row: Row): Promise<void> {
    this.rows[type].push(row)
    this.size += 1
    if (this.size >= this.limit) await this.write()
  }

  async write(): Promise<void> {
    for (const [type, { name, columns }] of Object.entries(TABLES)) {
      const rows = this.rows[type as StagedType]
      if (rows.length === 0) continue
      // As text first: postgres.js would encode a parameter of type json once more.
      await this.sql.unsafe(
        `insert into ${name} select * from json_to_recordset($1::text::json) as row (${columns})`,
        [JSON.stringify(rows)],
        { prepare: true },
      )
      this.rows[type as StagedType] = []
    }
    this.size = 0
  }
}

/**
 * After the last line: of several lines for one id the last one holds, and an assessment's parts are those
 * of that line. Then the planner is told what is there, or it takes the tables for empty.
 */
export async function settleStaging(sql: TransactionSql): Promise<void> {
  for (const { name } of [TABLES.organization, TABLES.product, TABLES.user, TABLES.assessment]) {
    await sql.unsafe(`create index on ${name} (id)`)
    await sql.unsafe(`
      delete from ${name} earlier using ${name} later where later.id = earlier.id and later.line > earlier.line`)
    await sql.unsafe(`analyze ${name}`)
  }
  await sql`create index on import_assessments (line)`
  await sql`create index on import_parts (line)`
  await sql`create index on import_parts (id)`
  await sql`
    delete from import_parts p where not exists (select from import_assessments a where a.line = p.line)`
  await sql`analyze import_parts`
}
