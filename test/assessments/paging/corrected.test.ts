import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readPage } from '../../../src/assessments/page.ts'
import { PageMemory } from '../../../src/assessments/page-memory.ts'
import { parseListQuery } from '../../../src/assessments/query-string.ts'
import { newCounters } from '../../../src/counters.ts'
import type { ServingDatabase } from '../../../src/postgres/pool/serving-database.ts'
import { useTestDatabase } from '../../support/hooks.ts'
import { issueTokens, SORTED, tokenOf } from './questions.ts'
import { PRODUCTS, reset } from './world.ts'

/** What is remembered of a page and corrected by the log of changes gives the same as what is read anew. */

const db = useTestDatabase()
let pool: ServingDatabase
const SCOPE = { organizations: [1, 2, 3, 4], products: PRODUCTS }

beforeAll(async () => {
  await reset(db.sql, 200)
  await issueTokens(db.sql, SCOPE)
  const bounds = { size: 1, waitMs: 60_000, statementMs: 60_000, slowMs: 60_000 }
  pool = db.pool(bounds, { info: () => {}, warn: () => {} })
})
afterAll(() => pool?.close())

/** Two pages, then a change, then the third: by what is remembered, and anew. */
async function expectCorrected(query: string, change: (last: string) => Promise<unknown>): Promise<void> {
  const counters = newCounters()
  const memory = new PageMemory(counters)
  const page = async (offset: number, known = memory) => {
    const asked = parseListQuery(`${query}&page=20&offset=${offset}`)
    const { count, documents } = await readPage(pool, known, tokenOf(SCOPE), asked)
    return { count, text: Buffer.from(documents).toString() }
  }
  await page(0)
  const { text } = await page(20)
  await change(JSON.parse(`[${text}]`).at(-1).id)
  const corrected = await page(40)
  expect(counters).toMatchObject({ pageMemoryHits: 2, pageMemoryMisses: 1 })
  expect(corrected).toEqual(await page(40, new PageMemory()))
}

const remove = (id: string) => db.sql`delete from assessments where id = ${id}`

describe.each(SORTED)('a walk by $sort $order', ({ sort, order }) => {
  test('continues at the same place after the last record of a page is removed', async () => {
    await expectCorrected(`sort=${sort}&order=${order}`, remove)
  })

  test('continues at the same place after records are added', async () => {
    await expectCorrected(`sort=${sort}&order=${order}`, last =>
      db.sql.unsafe(`
        with made as (insert into assessments
          select (${last} + n) * 1000 + ${SORTED.findIndex(one => one.sort === sort && one.order === order)},
            user_id, organization_id, product_id, certified_at
          from assessments, generate_series(-1, 1) n where id = ${last} returning id)
        insert into assessment_parts select id, id, 1, null, null, 3 from made`),
    )
  })
})

// Nobody has these as a phrase: only the first name and the last name, taken together, hold the two words.
describe.each([
  ['a part of a name', 'uiz'],
  ['a short part of a name', 'ui'],
  ['parts of both names', 'ana uiz'],
  ['short parts of both names', 'an ui'],
])('a search for %s', (_, needle) => {
  test('counts one record less after one is removed, and one more after one is added', async () => {
    const query = `filter[search]=${encodeURIComponent(needle)}`
    await expectCorrected(query, remove)
    await expectCorrected(query, last =>
      db.sql.unsafe(`
        with made as (insert into assessments
          select id * 10000 + ${needle.length}, user_id, organization_id, product_id, certified_at
          from assessments where id = ${last} returning id)
        insert into assessment_parts select id, id, 1, null, null, 3 from made`),
    )
  })
})

describe('a hint', () => {
  /** Whether the second of two pages is read by what was remembered of the first, when this was done in between. */
  async function isUsedAfter(statement: string): Promise<boolean> {
    const counters = newCounters()
    const memory = new PageMemory(counters)
    const page = (offset: number) =>
      readPage(pool, memory, tokenOf(SCOPE), parseListQuery(`offset=${offset}`))
    await page(0)
    await db.sql.unsafe(statement)
    await page(50)
    return counters.pageMemoryHits === 1
  }

  test('is used while nothing changes, or only records outside the scope', async () => {
    expect(await isUsedAfter('select 1')).toBe(true)
    expect(await isUsedAfter('insert into export_changes (organization_id) values (5)')).toBe(true)
  })

  test('is not used after a number of changes that is not logged one by one, everywhere or in the scope', async () => {
    expect(await isUsedAfter('insert into export_changes default values')).toBe(false)
    expect(await isUsedAfter('insert into export_changes (organization_id) values (4)')).toBe(false)
  })
})
