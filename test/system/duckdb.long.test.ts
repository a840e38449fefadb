import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { compressionOf, formatOf } from '../../src/pull/formats.ts'
import { cleanUp, emptyFolder } from '../support/executable.ts'
import { documents, provisionSample, pullFrom } from '../support/pull.ts'
import { startService, type TestService } from '../support/service.ts'
import { installed, runBun } from './support/npm.ts'

setDefaultTimeout(120_000)

const FILES = [
  'out.parquet',
  'out.csv',
  'out.csv.gz',
  'out.csv.zst',
  'out.ndjson',
  'out.ndjson.gz',
  'out.ndjson.zst',
]

describe('DuckDB over pulled files', () => {
  const folder = emptyFolder()
  let service: TestService
  let expected: string[]
  let programs: string
  beforeAll(async () => {
    programs = await installed('duckdb')
    service = await startService()
    const client = await provisionSample(service)
    expected = await documents(service)
    for (const name of FILES) {
      const form = { format: formatOf(name) ?? 'ndjson', compression: compressionOf(name) }
      await pullFrom(service.baseUrl, client, join(folder, name), form)
    }
  })
  afterAll(async () => {
    await service?.close()
    await cleanUp()
  })

  /** Runs statements that name files without their folder, and returns the rows of each. */
  async function ask(...statements: string[]): Promise<Record<string, unknown>[][]> {
    const located = statements.map(statement => statement.replaceAll("'out.", `'${folder}/out.`))
    return JSON.parse(await runBun(programs, 'query.ts', ...located))
  }

  test('reads from Parquet the same records and parts as the service has', async () => {
    const [rows] = await ask("select * from 'out.parquet'")
    expect(rows).toEqual(
      expected.map(text => JSON.parse(text, (key, value) => (/(^|_)id$/.test(key) ? String(value) : value))),
    )
  })

  test('reads the column types from Parquet, and that only seid is nullable', async () => {
    const [types, columns] = await ask(
      "select column_name, column_type from (describe from 'out.parquet')",
      "select name, repetition_type from parquet_schema('out.parquet') where repetition_type = 'OPTIONAL'",
    )
    const part =
      'STRUCT(assessment_id BIGINT, assessment_name VARCHAR, certified_on DATE, proctor_id BIGINT, proctor_name VARCHAR)[]'
    expect(
      Object.fromEntries((types ?? []).map(({ column_name, column_type }) => [column_name, column_type])),
    ).toEqual({
      id: 'BIGINT',
      seid: 'VARCHAR',
      name: 'VARCHAR',
      first_name: 'VARCHAR',
      last_name: 'VARCHAR',
      email: 'VARCHAR',
      organization_id: 'BIGINT',
      organization_name: 'VARCHAR',
      assessment_name: 'VARCHAR',
      certified_on: 'DATE',
      results: part,
    })
    expect(columns).toEqual([{ name: 'seid', repetition_type: 'OPTIONAL' }])
  })

  test('reads the same parts from every format, compressed or not', async () => {
    const parts = FILES.map(name =>
      name.startsWith('out.csv')
        ? `select id, part_proctor_id as proctor, part_certified_on as day from '${name}' order by all`
        : `select id, part.proctor_id as proctor, part.certified_on as day from (select id, unnest(results) as part from '${name}') order by all`,
    )
    const [parquet, ...others] = await ask(...parts)
    expect(parquet?.length).toBeGreaterThan(1200)
    for (const other of others) expect(other).toEqual(parquet ?? [])
  })
})
