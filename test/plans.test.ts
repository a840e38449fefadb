import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { type Filter, type ListQuery, ORDERS, SORTS, type Sort } from '../src/assessments/parameters.ts'
import { type Scope, selectPage } from '../src/assessments/queries.ts'
import { importSource } from '../src/import/import.ts'
import { ndjson } from '../src/import/ndjson.ts'
import { sampleNdjson } from '../src/sample/generate.ts'
import { openTestDatabase, type TestDatabase } from './support/service.ts'

/**
 * How the database goes about a page: on data of some size, because on a few rows every plan is a good one.
 * What is explained is what the service really sent, with the values it sent, on a connection set up alike.
 */

const ASSESSMENTS = 50_000
const PAGE = 100

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Scan Direction'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: Plan[]
}

let db: TestDatabase
let pool: Sql
let sent: { text: string; parameters: unknown[] }[] = []
let everything: Scope
/** Ids, from the one with the most records to the one with the fewest. */
let organizations: { id: string; records: number }[]

beforeAll(async () => {
  db = await openTestDatabase('postgres')
  const encoder = new TextEncoder()
  const chunks = (async function* () {
    for (const chunk of sampleNdjson({ assessments: ASSESSMENTS })) yield encoder.encode(chunk)
  })()
  const result = await importSource(db.sql, ndjson({ chunks }), () => {})
  expect(result.loaded).toBe(true)

  const [settings] = await db.sql`
    select current_setting('plan_cache_mode') as plan_cache_mode, current_setting('jit') as jit,
           current_setting('TimeZone') as "TimeZone"`
  pool = postgres(db.url, {
    max: 1,
    onnotice: () => {},
    connection: { ...settings },
    debug: (_connection, text, parameters) => sent.push({ text, parameters }),
  })
  organizations = [
    ...(await db.sql<{ id: string; records: number }[]>`
      select organization_id as id, count(*)::integer as records from export_records group by 1 order by 2 desc, 1`),
  ]
  const products = await db.sql<{ id: string }[]>`select id from products`
  everything = {
    organizationIds: organizations.map(row => row.id),
    productIds: products.map(row => row.id),
  }
})

afterAll(async () => {
  await pool?.end()
  await db?.close()
})

/** The plan of the statement that chooses a page, and in it the part that does: all below its LIMIT. */
async function explain(scope: Scope, query: Partial<ListQuery>): Promise<{ whole: Plan[]; page: Plan[] }> {
  sent = []
  await selectPage(pool, scope, {
    page: PAGE,
    offset: 0,
    sort: 'certified_on',
    order: 'ASC',
    filter: {},
    ...query,
  })
  const statements = sent.filter(({ text }) => text.includes('export_records'))
  for (const { text, parameters } of statements) {
    const rows = await pool.unsafe<{ 'QUERY PLAN': { Plan: Plan }[] }[]>(
      `explain (analyze, timing off, format json) ${text}`,
      parameters as string[],
    )
    const whole = rows.flatMap(row => row['QUERY PLAN']).flatMap(({ Plan }) => nodes(Plan))
    const limit = whole.find(node => node['Node Type'] === 'Limit')
    if (limit) return { whole, page: nodes(limit) }
  }
  throw new Error(`no statement with a LIMIT was sent: ${statements.map(({ text }) => text).join(';')}`)
}

function nodes(plan: Plan): Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodes)]
}

const types = (plans: Plan[]) => plans.map(node => node['Node Type'])
const indexes = (plans: Plan[]) => plans.flatMap(node => node['Index Name'] ?? [])

/** How many records the scans of a plan looked at, those included that they then dropped. */
function recordsRead(plans: Plan[]): number {
  const scans = plans.filter(node => node['Relation Name'] === 'export_records')
  const looked = scans.map(
    node =>
      node['Actual Loops'] *
      (node['Actual Rows'] +
        (node['Rows Removed by Filter'] ?? 0) +
        (node['Rows Removed by Index Recheck'] ?? 0)),
  )
  return looked.reduce((sum, rows) => sum + rows, 0)
}

const INDEX: Record<Sort, string> = {
  certified_on: 'export_records_certified_on',
  user_name: 'export_records_user_name',
  proctor_name: 'export_records_proctor_name',
  product_name: 'export_records_product_name',
}

const sorts = SORTS.flatMap(sort => ORDERS.map(order => ({ sort, order })))

describe.each(sorts)('a first page by $sort $order', ({ sort, order }) => {
  const inOrder = ['Limit', 'Index Only Scan']
  const direction = order === 'ASC' ? 'Forward' : 'Backward'

  test('of the whole platform is the first entries of one index, unsorted and without the table', async () => {
    const { page } = await explain(everything, { sort, order })
    expect(types(page)).toEqual(inOrder)
    expect(page[1]).toMatchObject({ 'Index Name': INDEX[sort], 'Scan Direction': direction })
    expect(recordsRead(page)).toBe(PAGE)
  })

  test('of four fifths of the organizations and most products skips a few entries of the same index', async () => {
    const scope = {
      organizationIds: everything.organizationIds.filter((_, at) => at % 5 !== 0),
      productIds: everything.productIds.slice(0, 35),
    }
    const { page } = await explain(scope, { sort, order })
    expect(types(page)).toEqual(inOrder)
    expect(page[1]).toMatchObject({ 'Index Name': INDEX[sort], 'Scan Direction': direction })
    expect(recordsRead(page)).toBeLessThan(20 * PAGE)
  })

  test.each([0.5, 0.9])(
    'of a small organization (at %d of the way to the smallest) reads no other',
    async share => {
      const organization = organizationAt(share)
      const { page } = await explain({ ...everything, organizationIds: [organization.id] }, { sort, order })
      expect(recordsRead(page)).toBeLessThanOrEqual(organization.records)
      expect(indexes(page).join()).toMatch(/^export_records_organization_\w+$/)
    },
  )

  // In between, walking everybody's records in order may be as good as sorting those of the one.
  test.each([0, 0.1, 0.2])('of a large organization (at %d) never reads all', async share => {
    const { page } = await explain(
      { ...everything, organizationIds: [organizationAt(share).id] },
      { sort, order },
    )
    expect(types(page)).not.toContain('Seq Scan')
    expect(recordsRead(page)).toBeLessThan(ASSESSMENTS / 2)
  })
})

function organizationAt(share: number) {
  const found = organizations[Math.floor(organizations.length * share)]
  if (!found) throw new Error('there are no organizations')
  return found
}

/** Values of a few records out of all. */
async function some(column: 'user_id' | 'seid' | 'proctor_ids[1]', length: number): Promise<string[]> {
  const rows = await db.sql.unsafe<{ value: string }[]>(
    `select ${column} as value from export_records where ${column} is not null
     group by 1 order by count(*), 1 limit $1`,
    [length],
  )
  return rows.map(row => row.value)
}

describe('a filter that picks few records reads these by its own index, for the page and for the count:', () => {
  async function expectIndex(filter: Filter, index: string): Promise<void> {
    for (const { sort, order } of sorts) {
      const { whole } = await explain(everything, { sort, order, filter })
      expect(types(whole)).not.toContain('Seq Scan')
      // By their primary key, only the documents of the page are fetched.
      expect(new Set(indexes(whole).filter(name => name !== 'export_records_pkey'))).toEqual(new Set([index]))
      expect(recordsRead(whole)).toBeLessThan(ASSESSMENTS / 10)
    }
  }

  test.each([1, 3, 50])('%d user_ids', async length => {
    await expectIndex({ user_ids: await some('user_id', length) }, 'export_records_user_id')
  })

  test.each([1, 3, 50])('%d seids', async length => {
    await expectIndex({ seids: await some('seid', length) }, 'export_records_seid')
  })

  test('a proctor id', async () => {
    await expectIndex({ proctor_ids: await some('proctor_ids[1]', 1) }, 'export_records_proctor_ids')
  })

  test.each(['xyzzy', 'xyz', 'ana ruiz', 'RUIZ ana', 'nobody at all'])('search for "%s"', async search => {
    await expectIndex({ search }, 'export_records_search')
  })

  test('ids that nobody has', async () => {
    await expectIndex({ user_ids: ['-1', '999999999'] }, 'export_records_user_id')
    await expectIndex({ seids: ['nobody'] }, 'export_records_seid')
  })
})

describe.each(SORTS)('a filter that picks many does not read all for a first page by %s:', sort => {
  async function expectLittle(filter: Filter): Promise<void> {
    const { page } = await explain(everything, { sort, filter })
    expect(types(page)).not.toContain('Seq Scan')
    expect(recordsRead(page)).toBeLessThan(ASSESSMENTS / 4)
  }

  test('a common name', async () => {
    await expectLittle({ search: 'ruiz' })
  })

  test('active educators and native records', async () => {
    await expectLittle({ user_record_status: ['active'], legacy_record: [false] })
  })
})

describe('people whose names come last are not searched for from the first name on:', () => {
  async function last(id: 'user_id' | 'proctor_ids[1]', key: string, length: number): Promise<string[]> {
    const rows = await db.sql.unsafe<{ id: string }[]>(
      `select ${id} as id from export_records where cardinality(proctor_ids) = 1
       group by 1 order by min(${key}) desc, 1 limit $1`,
      [length],
    )
    return rows.map(row => row.id)
  }

  test('thirty proctors, by proctor_name', async () => {
    const proctor_ids = await last('proctor_ids[1]', 'proctor_name_key', 30)
    const { page } = await explain(everything, { sort: 'proctor_name', filter: { proctor_ids } })
    expect(recordsRead(page)).toBeLessThan(ASSESSMENTS / 4)
  })

  test('six hundred educators, by user_name', async () => {
    const user_ids = await last('user_id', 'user_name_key', 600)
    const { page } = await explain(everything, { sort: 'user_name', filter: { user_ids } })
    expect(recordsRead(page)).toBeLessThan(ASSESSMENTS / 4)
  })
})

test('a day out of all is read by an index, not by walking up to it', async () => {
  const [row] = await db.sql<{ day: string }[]>`
    select certified_on::text as day from export_records
    where certified_on > (select avg(certified_on - date '2000-01-01')::integer + date '2000-01-01' from export_records)
    order by 1 limit 1`
  const day = row?.day ?? ''
  const { page } = await explain(everything, { filter: { start_date: day, end_date: day } })
  expect(new Set(indexes(page))).toEqual(new Set(['export_records_certified_on']))
  expect(recordsRead(page)).toBeLessThan(ASSESSMENTS / 50)
})
