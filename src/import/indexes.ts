import type { TransactionSql } from 'postgres'

/** The columns by which other tables join each staging table. */
const JOINED: Record<string, string[]> = {
  organizations: ['id'],
  products: ['id'],
  users: ['id'],
  assessments: ['id'],
  assessment_parts: ['id', 'assessment_id'],
  removed_parts: ['id', 'assessment_id'],
  rejects: ['id', 'assessment_id'],
}

/** Fewer rows cost little even where each is compared with all. Their indexes would cost a feed 10 ms a round. */
const LEAST_ROWS = 1000

/**
 * Indexes the staging tables, once all rows are there and before the first statement joins them. The planner may
 * expect one row where there are many, and then look up each row on its own. By an index that costs about as much as
 * reading both tables once. Without one it reads the whole other table for each row: minutes for 86,000.
 * @returns false for so few rows that they have neither indexes nor statistics
 */
export async function indexStaging(sql: TransactionSql, rows: number): Promise<boolean> {
  if (rows < LEAST_ROWS) return false
  const indexes = Object.entries(JOINED).flatMap(([table, columns]) =>
    columns.map(column => `create index on import_${table} (${column})`),
  )
  await sql.unsafe(indexes.join(';'))
  await analyzeStaging(sql)
  return true
}

/** The same for the places of rows, by which repeated and bad ones are taken out. May be called again. */
export async function indexPlaces(sql: TransactionSql, rows: number): Promise<void> {
  if (rows < LEAST_ROWS) return
  const indexes = [...Object.keys(JOINED), 'texts'].map(
    table => `create index if not exists import_${table}_place on import_${table} (file, line)`,
  )
  await sql.unsafe(indexes.join(';'))
}

/** Without statistics the planner takes each column for one of 200 values. */
export async function analyzeStaging(sql: TransactionSql): Promise<void> {
  await sql`
    analyze import_organizations, import_products, import_users, import_assessments, import_assessment_parts,
      import_removed_parts, import_rejects`
}
