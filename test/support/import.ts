import { beforeEach, expect } from 'bun:test'
import type { Sql, TransactionSql } from 'postgres'
import { importSource, type Progress } from '../../src/import/import.ts'
import { endLine, ndjson } from '../../src/import/ndjson.ts'
import type { ImportOptions, ImportResult } from '../../src/import/result.ts'
import { ndjsonOf } from './fixtures.ts'
import { useTestDatabase } from './hooks.ts'
import type { TestDatabase } from './service.ts'

/** A database for the tests of one group. It is open while the tests run, and emptied before each. */
export function useDatabase(): TestDatabase {
  const database = useTestDatabase()
  beforeEach(async () => {
    await database.sql`truncate organizations, products, users, assessments, assessment_parts`
    await database.sql`update export_state set time_zone = 'UTC'`
  })
  return database
}

interface Importing extends ImportOptions {
  /** Called when half of the file has been read. */
  halfway?: () => Promise<void> | void
  onProgress?: (progress: Progress) => void
}

/** Imports a text of NDJSON. */
export function importText(sql: Sql, text: string, options: Importing = {}): Promise<ImportResult> {
  const bytes = new TextEncoder().encode(text)
  const half = Math.floor(bytes.length / 2)
  const chunks = (async function* () {
    yield bytes.subarray(0, half)
    await options.halfway?.()
    yield bytes.subarray(half)
  })()
  return importSource(sql, ndjson({ chunks, size: bytes.length }), options.onProgress ?? (() => {}), options)
}

/** Imports lines; each is an object or a string. */
export function importLines(sql: Sql, ...lines: (object | string)[]): Promise<ImportResult> {
  return importText(sql, ndjsonOf(lines))
}

/** Imports lines with options; an end line follows for `sync`. */
export function importWith(
  sql: Sql,
  options: Importing,
  ...lines: (object | string)[]
): Promise<ImportResult> {
  const end = options.sync ? [endLine(lines.length)] : []
  return importText(sql, ndjsonOf([...lines, ...end]), options)
}

/** The bad lines of an import, as "number: reason". Throws if the import was loaded. */
export function problems(result: ImportResult): string[] {
  if (result.loaded) throw new Error('the import was loaded')
  return result.problems.map(({ line, reason }) => `${line}: ${reason}`)
}

const TABLES = ['organizations', 'products', 'users', 'assessments', 'assessment_parts', 'export_records']

/**
 * Everything that an import can change: the rows of all tables with their physical positions and transaction ids, and
 * the state of the export. Two results are equal only if nothing was written between them.
 */
export async function everything(sql: Sql): Promise<unknown> {
  const state = await sql`select singleton, time_zone from export_state`
  const tables: Record<string, unknown> = {}
  for (const table of TABLES) {
    tables[table] = await sql`select ctid::text, xmin::text, * from ${sql(table)} order by id`
  }
  return { state, tables }
}

/** The ids of a table's rows, in ascending order. */
export async function idsOf(sql: Sql, table: string): Promise<number[]> {
  const rows = await sql<{ id: string }[]>`select id from ${sql(table)} order by id`
  return rows.map(({ id }) => Number(id))
}

/** The parts of each assessment in their order, as { 9100: [9101, 9102] }. Fails if the read model has other parts. */
export async function partsOf(sql: Sql): Promise<Record<string, number[]>> {
  expect(await staleRecords(sql)).toBeEmpty()
  const rows = await sql<{ id: string; parts: string[] }[]>`
    select a.id, array_remove(array_agg(p.id order by p.position), null) as parts
    from assessments a left join assessment_parts p on p.assessment_id = a.id group by a.id order by a.id`
  return Object.fromEntries(rows.map(row => [row.id, row.parts.map(Number)]))
}

/** The version of the export. */
export async function versionOf(sql: Sql): Promise<string | undefined> {
  const [row] = await sql<{ version: string }[]>`select version from export_version`
  return row?.version
}

/** The records in which the read model differs from a fresh rendering of the source tables, and the wrong counts. */
export async function staleRecords(sql: Sql | TransactionSql): Promise<{ what: string }[]> {
  return await sql<{ what: string }[]>`
    select 'record ' || id as what from export_records as stored full join export_records_rendered as rendered using (id)
    where stored is distinct from rendered
    union all
    select format('%s of %s and %s, counted as %s', r.records, organization_id, product_id, c.records)
    from (select organization_id, product_id, count(*) as records from export_records group by 1, 2) as r
    full join export_counts as c using (organization_id, product_id)
    where r.records is distinct from c.records`
}
