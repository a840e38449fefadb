import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { ASSESSMENTS, definitions, SAMPLE } from '../import/large-load.ts'
import { badFindings } from '../support/doctor.ts'
import { cleanUp, emptyFolder, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { useTestDatabase } from '../support/hooks.ts'
import { importText, staleRecords } from '../support/import.ts'
import { backUpTo, contents, restoreFrom } from './worlds.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const file = join(emptyFolder(), 'large.backup')
const source = useTestDatabase()
beforeAll(async () => {
  await importText(source.sql, SAMPLE)
  await backUpTo(file, source.sql)
})
afterAll(cleanUp)

describe('a backup large enough for a bulk restore into an empty database', () => {
  const target = useTestDatabase()

  test('is restored completely, and every record equals its source', async () => {
    const before = await definitions(target.sql)
    await restoreFrom(file, target.sql)
    expect(await contents(target.sql)).toEqual(await contents(source.sql))
    expect(await definitions(target.sql)).toEqual(before)
    expect(await staleRecords(target.sql)).toBeEmpty()
    const [row] = await target.sql`select count(*)::integer as records from export_records`
    expect(row?.records).toBe(ASSESSMENTS)
    expect(await badFindings(target.url, '--full')).toEqual([])
  })
})

describe('a large backup restored while a transaction reads the export', () => {
  const target = useTestDatabase()

  test('is rendered by the triggers instead of in bulk', async () => {
    const reader = await target.sql.reserve()
    await reader`begin`
    await reader`select from export_records limit 1`
    await restoreFrom(file, target.sql)
    await reader`rollback`
    reader.release()
    expect(await contents(target.sql)).toEqual(await contents(source.sql))
  })
})
