import type { Sql } from 'postgres'
import { Failure } from '../errors.ts'
import { onlyRow } from '../postgres/statement.ts'
import type { Header } from './archive.ts'
import { KEPT } from './tables.ts'

/**
 * Counts the rows of a database that a backup was restored into, and the records that were rendered from them.
 * @returns the number of records
 * @throws Failure if there are fewer rows than the backup says, or not as many records as assessments
 */
export async function countRestored(sql: Sql, { rows }: Header): Promise<number> {
  for (const { table } of KEPT) {
    const counted = await count(sql, table)
    const expected = rows[table] ?? 0
    // A backup of an older schema gets a row in the history for each integration.
    if (counted < expected)
      throw new Failure(
        `the restored database has ${counted} rows of ${table}, and the backup has ${expected}`,
      )
  }
  const [records, assessments] = [await count(sql, 'export_records'), rows.assessments ?? 0]
  if (records !== assessments)
    throw new Failure(`the restored database has ${records} records of ${assessments} assessments`)
  return records
}

async function count(sql: Sql, table: string): Promise<number> {
  return onlyRow(await sql<{ rows: number }[]>`select count(*)::float8 as rows from ${sql(table)}`).rows
}
