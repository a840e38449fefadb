import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Filter, ORDERS, SORTS, type Sort } from '../src/assessments/parameters.ts'
import { importSource } from '../src/import/import.ts'
import { ndjson } from '../src/import/ndjson.ts'
import { sampleNdjson } from '../src/sample/generate.ts'
import {
  Explainer,
  type IdScope,
  indexes,
  indexesOfRecords,
  PAGE,
  readsAll,
  recordsRead,
  types,
} from './paging/explain.ts'
import { openTestDatabase, type TestDatabase } from './support/service.ts'

/**
 * How the database goes about a page: on data of some size, because on a few rows every plan is a good one.
 * What is explained is what the service really sends, with the values it sends, on a connection set up alike.
 */

const ASSESSMENTS = 50_000

let db: TestDatabase
let explainer: Explainer
let everything: IdScope
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

  explainer = await Explainer.create(db.url, db.sql)
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
  await explainer?.end()
  await db?.close()
})

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
    const { page } = await explainer.explain(everything, { sort, order })
    expect(types(page)).toEqual(inOrder)
    expect(page[1]).toMatchObject({ 'Index Name': INDEX[sort], 'Scan Direction': direction })
    expect(recordsRead(page)).toBe(PAGE)
  })

  test('of four fifths of the organizations and most products skips a few entries of the same index', async () => {
    const scope = {
      organizationIds: everything.organizationIds.filter((_, at) => at % 5 !== 0),
      productIds: everything.productIds.slice(0, 35),
    }
    const { page } = await explainer.explain(scope, { sort, order })
    expect(types(page)).toEqual(inOrder)
    expect(page[1]).toMatchObject({ 'Index Name': INDEX[sort], 'Scan Direction': direction })
    expect(recordsRead(page)).toBeLessThan(20 * PAGE)
  })

  test.each([0.5, 0.9])(
    'of a small organization (at %d of the way to the smallest) reads no other',
    async share => {
      const organization = organizationAt(share)
      const { page } = await explainer.explain(
        { ...everything, organizationIds: [organization.id] },
        { sort, order },
      )
      expect(recordsRead(page)).toBeLessThanOrEqual(organization.records)
      expect(indexes(page).join()).toMatch(/^export_records_organization_\w+$/)
    },
  )

  // In between, walking everybody's records in order may be as good as sorting those of the one.
  test.each([0, 0.1, 0.2])('of a large organization (at %d) never reads all', async share => {
    const { page } = await explainer.explain(
      { ...everything, organizationIds: [organizationAt(share).id] },
      { sort, order },
    )
    expect(readsAll(page)).toBe(false)
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
      const { whole } = await explainer.explain(everything, { sort, order, filter })
      expect(readsAll(whole)).toBe(false)
      // By their primary key, only the documents of the page are fetched.
      expect(new Set(indexesOfRecords(whole))).toEqual(new Set(['export_records_pkey', index]))
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
    const { page } = await explainer.explain(everything, { sort, filter })
    expect(readsAll(page)).toBe(false)
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
    const { page } = await explainer.explain(everything, { sort: 'proctor_name', filter: { proctor_ids } })
    expect(recordsRead(page)).toBeLessThan(ASSESSMENTS / 4)
  })

  test('six hundred educators, by user_name', async () => {
    const user_ids = await last('user_id', 'user_name_key', 600)
    const { page } = await explainer.explain(everything, { sort: 'user_name', filter: { user_ids } })
    expect(recordsRead(page)).toBeLessThan(ASSESSMENTS / 4)
  })
})

test('a day out of all is read by an index, not by walking up to it', async () => {
  const [row] = await db.sql<{ day: string }[]>`
    select certified_on::text as day from export_records
    where certified_on > (select avg(certified_on - date '2000-01-01')::integer + date '2000-01-01' from export_records)
    order by 1 limit 1`
  const day = row?.day ?? ''
  const { page } = await explainer.explain(everything, { filter: { start_date: day, end_date: day } })
  expect(new Set(indexes(page))).toEqual(new Set(['export_records_certified_on']))
  expect(recordsRead(page)).toBeLessThan(ASSESSMENTS / 50)
})
