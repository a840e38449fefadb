import { afterAll, beforeAll, beforeEach } from 'bun:test'
import type { Sql } from 'postgres'
import {
  type ImportOptions,
  type ImportResult,
  importSource,
  type Progress,
} from '../../src/import/import.ts'
import { ndjson } from '../../src/import/ndjson.ts'
import { type Backend, openTestDatabase, type TestDatabase } from './service.ts'

/** A database of its own for the tests of one group, empty at the start of each; open while they run. */
export function useDatabase(backend: Backend): { readonly sql: Sql } {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(backend)
  })
  beforeEach(async () => {
    await database.sql`truncate organizations, products, users, assessments, assessment_parts`
    await database.sql`update export_state set time_zone = 'UTC'`
  })
  afterAll(() => database.close())
  return {
    get sql() {
      return database.sql
    },
  }
}

/** Imports text as the file that holds it; `halfway` runs when half of it has been read. */
export function importText(
  sql: Sql,
  text: string,
  options: ImportOptions & {
    halfway?: () => Promise<void> | void
    onProgress?: (progress: Progress) => void
  } = {},
): Promise<ImportResult> {
  const bytes = new TextEncoder().encode(text)
  const half = Math.floor(bytes.length / 2)
  const chunks = (async function* () {
    yield bytes.subarray(0, half)
    await options.halfway?.()
    yield bytes.subarray(half)
  })()
  return importSource(sql, ndjson({ chunks }), options.onProgress ?? (() => {}), options)
}

/** Imports lines, each an object. */
export function importLines(sql: Sql, ...lines: object[]): Promise<ImportResult> {
  return importText(sql, lines.map(line => JSON.stringify(line)).join('\n'))
}

/** The bad lines of an import that loaded nothing, as "number: reason". */
export function problems(result: ImportResult): string[] {
  if (result.loaded) throw new Error('the import was loaded')
  return result.problems.map(({ line, reason }) => `${line}: ${reason}`)
}

const TABLES = ['organizations', 'products', 'users', 'assessments', 'assessment_parts', 'export_records']

/**
 * Everything an import could change: the rows of all tables with the place and the transaction of each, and
 * the version. Two of them are equal only when nothing was written in between.
 */
export async function everything(sql: Sql): Promise<unknown> {
  const state = await sql`select * from export_state`
  const tables: Record<string, unknown> = {}
  for (const table of TABLES) {
    tables[table] = await sql`select ctid::text, xmin::text, * from ${sql(table)} order by id`
  }
  return { state, tables }
}

/** The records in which the read model differs from a full rendering of its source. */
export async function staleRecords(sql: Sql): Promise<{ id: string }[]> {
  return await sql<{ id: string }[]>`
    (table export_records except all table export_records_rendered)
    union all
    (table export_records_rendered except all table export_records)`
}
