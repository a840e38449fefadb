import { beforeAll, describe, expect, test } from 'bun:test'
import { importSource } from '../../src/import/import.ts'
import { ndjson } from '../../src/import/ndjson.ts'
import { sampleNdjson } from '../../src/sample/generate.ts'
import { useTestDatabase } from '../support/hooks.ts'

/** The plans of counts, on as much data as an import and autovacuum leave. On few rows every plan is cheap. */

const db = useTestDatabase()
beforeAll(async () => {
  const encoder = new TextEncoder()
  const chunks = (async function* () {
    for (const chunk of sampleNdjson({ assessments: 20_000 })) yield encoder.encode(chunk)
  })()
  await importSource(db.sql, ndjson({ chunks }), () => {})
  await db.sql`vacuum export_records, export_people`
})

const SCOPE = `organization_id = any (array(select id from organizations where id % 5 <> 0))
  and product_id = any (array(select id from products where id % 5 <> 0))`

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Heap Fetches'?: number
  Plans?: Plan[]
}

const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)]

/**
 * Explains a query. Parallel plans have no start-up cost here; on a million records that cost is negligible anyway.
 */
async function plan(query: string): Promise<Plan[]> {
  return await db.sql.begin(async sql => {
    await sql.unsafe(`
      set local parallel_setup_cost = 0; set local parallel_tuple_cost = 0;
      set local min_parallel_table_scan_size = 0; set local min_parallel_index_scan_size = 0;
      set local max_parallel_workers_per_gather = 2`)
    const [row] = await sql.unsafe(`explain (analyze, format json) ${query}`)
    return nodes(row?.['QUERY PLAN'][0].Plan)
  })
}

describe('a count uses an index-only scan by several processes', () => {
  test.each([
    ['of the whole scope', 'true'],
    ['of archived educators', 'is_archived'],
    ['of native records', 'not legacy_record'],
    ['of some days', `certified_on between '2024-01-01' and '2024-12-31'`],
    ['of archived educators on some days', `is_archived and certified_on >= '2024-01-01'`],
    [
      'of people by their names',
      `user_id in (select user_id from export_people where names_key like '%an%')`,
    ],
  ])('%s', async (_, condition) => {
    const all = await plan(`
      select (select count(*) from live_tokens where digest = 'x'), (select count(*) from export_records where ${SCOPE} and ${condition})`)
    const scans = all.filter(node => node['Relation Name'] === 'export_records')
    expect(scans.map(node => node['Node Type'])).toEqual(['Index Only Scan'])
    expect(scans[0]?.['Heap Fetches']).toBe(0)
    expect(all.map(node => node['Node Type'])).toContain('Gather')
  })
})
