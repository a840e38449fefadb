import { expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import { SOURCE_TABLES } from '../../db/schema.ts'
import { erasePerson } from '../../src/erasure/erase.ts'
import { ASSESSMENTS, definitions, SAMPLE } from '../import/large-load.ts'
import { PROCTOR } from '../support/fixtures.ts'
import { importText, staleRecords, useDatabase } from '../support/import.ts'
import { openTestDatabase } from '../support/service.ts'

/** An educator of the sample, and the proctor of all assessments of that educator. */
const ERASED = ['1000', String(PROCTOR)]

async function eraseThem(sql: Sql): Promise<void> {
  for (const id of ERASED) await erasePerson(sql, id, { dryRun: false, onWait: () => {} })
}

/** The rows of the source tables and of the records, as text. */
async function contents(sql: Sql): Promise<Record<string, string[]>> {
  const tables: Record<string, string[]> = {}
  for (const table of [...SOURCE_TABLES, 'export_records', 'export_people', 'export_products']) {
    const rows = await sql<{ row: string }[]>`select (t.*)::text as row from ${sql(table)} t order by 1`
    tables[table] = rows.map(({ row }) => row)
  }
  return tables
}

const database = useDatabase()

test('a bulk load leaves erased people out, and loads everything else', async () => {
  await importText(database.sql, SAMPLE)
  await eraseThem(database.sql)
  const all = await contents(database.sql)
  expect(all.assessments).toHaveLength(ASSESSMENTS - ASSESSMENTS / 500)

  const empty = await openTestDatabase()
  await eraseThem(empty.sql)
  const before = await definitions(empty.sql)
  expect(await importText(empty.sql, SAMPLE)).toMatchObject({ erased: { people: 2, lines: 42 } })
  expect(await staleRecords(empty.sql)).toBeEmpty()
  expect(await contents(empty.sql)).toEqual(all)
  expect(await definitions(empty.sql)).toEqual(before)
  await empty.close()
})
