import { afterAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Sql } from 'postgres'
import { erasePerson } from '../../src/erasure/erase.ts'
import { backUpTo, contents, restoreFrom } from '../backup/worlds.ts'
import { ASSESSMENTS, definitions, SAMPLE } from '../import/large-load.ts'
import { cleanUp, emptyFolder } from '../support/executable.ts'
import { PROCTOR } from '../support/fixtures.ts'
import { importText, staleRecords, useDatabase } from '../support/import.ts'
import { openTestDatabase } from '../support/service.ts'

afterAll(cleanUp)

/** An educator of the sample, and the proctor of all assessments of that educator. */
const ERASED = ['1000', String(PROCTOR)]

async function eraseThem(sql: Sql): Promise<void> {
  for (const id of ERASED) await erasePerson(sql, id, { dryRun: false, onWait: () => {} })
}

const database = useDatabase()

test('a bulk load and a bulk restore leave erased people out, and load everything else', async () => {
  const { sql } = database
  const file = join(emptyFolder(), 'large.backup')
  await importText(sql, SAMPLE)
  await backUpTo(file, sql)
  await eraseThem(sql)
  const { tables } = (await contents(sql)) as { tables: Record<string, string[]> }
  const all = { ...tables, erasures: [] }
  expect(tables.assessments).toHaveLength(ASSESSMENTS - ASSESSMENTS / 500)

  const kept = async (sql: Sql) => {
    const { tables } = (await contents(sql)) as { tables: Record<string, string[]> }
    expect(await staleRecords(sql)).toBeEmpty()
    return { ...tables, erasures: [] }
  }
  for (const load of [
    async (sql: Sql) =>
      expect(await importText(sql, SAMPLE)).toMatchObject({ erased: { people: 2, lines: 42 } }),
    async (sql: Sql) => expect(await restoreFrom(file, sql)).toBe(2),
  ]) {
    const empty = await openTestDatabase()
    await eraseThem(empty.sql)
    const before = await definitions(empty.sql)
    await load(empty.sql)
    expect(await kept(empty.sql)).toEqual(all)
    expect(await definitions(empty.sql)).toEqual(before)
    await empty.close()
  }
}, 120_000)
