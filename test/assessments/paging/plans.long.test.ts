import { beforeAll, describe, expect, test } from 'bun:test'
import type { Filter } from '../../../src/contract.ts'
import { sampleNdjson } from '../../../src/sample/generate.ts'
import { importText } from '../../support/import.ts'
import type { Scope } from '../../support/oracle.ts'
import { Explainer, INDEX, indexes, indexesOfRecords, PAGE, readsAll, recordsRead, types } from './explain.ts'
import { useManyRecords } from './many-records.ts'
import { EACH_SORT, SORTED } from './questions.ts'

/**
 * The plans of pages on data right after an import: analyzed, but not vacuumed. The explained statements are
 * those that the service really sends, with their values and on a connection with the same settings.
 */

const ASSESSMENTS = 50_000

const many = useManyRecords('a sample', sql =>
  importText(sql, [...sampleNdjson({ assessments: ASSESSMENTS })].join('')),
)
let everything: Scope

beforeAll(async () => {
  const products = await many.database.sql<{ id: number }[]>`select id::integer from products`
  everything = {
    organizations: many.organizations.map(row => row.id),
    products: products.map(row => row.id),
  }
})

test.each(SORTED)(
  'the first page of the whole platform by $sort $order is read along one index, without a sort',
  async ({ sort, order }) => {
    const { page } = await many.explainer.explain(everything, { sort, order })
    expect(types(page)).not.toContain('Sort')
    const direction = order === 'ASC' ? 'Forward' : 'Backward'
    const scan = page.find(node => node['Index Name'] === INDEX[sort])
    expect(scan).toMatchObject({
      'Node Type': 'Index Scan',
      'Scan Direction': direction,
      'Actual Rows': PAGE,
    })
  },
)

/** The rarest values of a column. */
async function some(column: 'user_id' | 'seid' | 'proctor_ids[1]', length: number): Promise<string[]> {
  const rows = await many.database.sql.unsafe<{ value: string }[]>(
    `select ${column} as value from export_records where ${column} is not null
     group by 1 order by count(*), 1 limit $1`,
    [length],
  )
  return rows.map(row => row.value)
}

describe('a filter with few matches reads its own index for the page and for the count:', () => {
  async function expectIndex(filter: Filter, index: string): Promise<void> {
    for (const { sort, order } of EACH_SORT) {
      const { whole } = await many.explainer.explain(everything, { sort, order, filter })
      expect(readsAll(whole)).toBe(false)
      // The primary key is used only to read the documents of the page.
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
    for (const { sort, order } of EACH_SORT) {
      const { whole } = await many.explainer.explain(everything, { sort, order, filter: { search } })
      expect(readsAll(whole)).toBe(false)
      expect(indexes(whole)).toEqual(
        expect.arrayContaining(['export_people_names_key', 'export_records_user_id']),
      )
      expect(recordsRead(whole)).toBeLessThan(ASSESSMENTS / 10)
    }
  })
})

test.each([
  ['thirty proctors', 30, 'proctor_name', 'proctor_ids', 'proctor_ids[1]'],
  ['two hundred educators', 200, 'user_name', 'user_ids', 'user_id'],
] as const)(
  'a filter by %s whose names are last in the order does not walk the order from its start',
  async (_, length, sort, filter, id) => {
    const rows = await many.database.sql.unsafe<{ id: string }[]>(
      `select ${id} as id from export_records where cardinality(proctor_ids) = 1
       group by 1 order by min(${sort}_key) desc, 1 limit $1`,
      [length],
    )
    const parameters = { sort, filter: { [filter]: rows.map(row => row.id) } }
    const { page } = await many.explainer.explain(everything, parameters)
    expect(recordsRead(page)).toBeLessThan(ASSESSMENTS / 4)
  },
)

test('a filter by one day reads an index, and does not walk to that day', async () => {
  const [row] = await many.database.sql<{ day: string }[]>`
    select certified_on::text as day from export_records
    where certified_on > (select avg(certified_on - date '2000-01-01')::integer + date '2000-01-01' from export_records)
    order by 1 limit 1`
  const day = row?.day ?? ''
  const { page } = await many.explainer.explain(everything, { filter: { start_date: day, end_date: day } })
  expect(new Set(indexes(page))).toEqual(new Set(['export_records_certified_on']))
  expect(recordsRead(page)).toBeLessThan(ASSESSMENTS / 50)
})

test.each(['q', '王', 'q x'])(
  'a search for "%s", which has no three letters in a row, uses no index of names',
  async search => {
    const explainer = Explainer.create(many.database.url, { enable_seqscan: 'off', enable_indexscan: 'off' })
    const { whole } = await explainer.explain(everything, { filter: { search } })
    await explainer.end()
    expect(indexes(whole)).not.toContain('export_people_names_key')
  },
)
