import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readPage } from '../../../src/assessments/page.ts'
import { PageMemory } from '../../../src/assessments/page-memory.ts'
import { Counters } from '../../../src/counters.ts'
import type { ServingDatabase } from '../../../src/database/pool/serving-database.ts'
import { useTestDatabase } from '../../support/hooks.ts'
import { PATIENT } from '../../support/lease.ts'
import { listQuery } from '../../support/list-query.ts'
import { issueTokens, SORTED, tokenOf } from './questions.ts'
import { PRODUCTS, reset } from './world.ts'

/** A page that is read from what is remembered, corrected by the log of changes, equals the same page read anew. */

const db = useTestDatabase()
let pool: ServingDatabase
const SCOPE = { organizations: [1, 2, 3, 4], products: PRODUCTS }
/** Its records are found in the index of the organization. */
const ONE = { organizations: [1], products: PRODUCTS }

beforeAll(async () => {
  await reset(db.sql, 800)
  await issueTokens(db.sql, SCOPE, ONE)
  const bounds = { size: 1, waitMs: 60_000, statementMs: 60_000, slowMs: 60_000 }
  pool = db.pool(bounds, { info: () => {}, warn: () => {} })
})
afterAll(() => pool?.close())

/** Reads two pages, makes the change, and compares the third page read from what is remembered with one read anew. */
async function expectCorrected(
  query: string,
  change: (last: string, ids: string[]) => Promise<unknown>,
  scope = SCOPE,
): Promise<void> {
  const counters = new Counters()
  const memory = new PageMemory(counters)
  const page = async (offset: number, known = memory) => {
    const parameters = listQuery(`${query}&page=20&offset=${offset}`)
    const { count, documents } = await readPage(pool.forRequest(PATIENT), known, tokenOf(scope), parameters)
    return { count, text: Buffer.from(documents).toString() }
  }
  const texts = [(await page(0)).text, (await page(20)).text]
  const ids = JSON.parse(`[${texts}]`).map(({ id }: { id: string }) => id)
  await change(ids.at(-1), ids)
  const corrected = await page(40)
  expect(counters).toMatchObject({ pageMemoryHits: 2, pageMemoryMisses: 1 })
  expect(corrected).toEqual(await page(40, new PageMemory()))
}

const remove = (id: string) => db.sql`delete from assessments where id = ${id}`

describe.each(SORTED)('a walk by $sort $order', ({ sort, order }) => {
  test('continues at the same place after the last record of a page is removed', async () => {
    await expectCorrected(`sort=${sort}&order=${order}`, remove)
  })

  test('skips as many records as were removed before the page', async () => {
    for (const scope of [SCOPE, ONE])
      await expectCorrected(
        `sort=${sort}&order=${order}`,
        (_, ids) => db.sql`
          with gone as (delete from assessments where id = any (${ids.slice(0, 5)}) returning id)
          delete from assessment_parts p using gone where p.assessment_id = gone.id`,
        scope,
      )
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

// No name or product contains these texts as a phrase; only first and last name together contain both words.
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

describe('what is remembered', () => {
  /** Whether the second of two pages is read from what the first has left if this statement runs in between. */
  async function isUsedAfter(statement: string): Promise<boolean> {
    const counters = new Counters()
    const memory = new PageMemory(counters)
    const page = (offset: number) =>
      readPage(pool.forRequest(PATIENT), memory, tokenOf(SCOPE), listQuery(`offset=${offset}`))
    await page(0)
    await db.sql.unsafe(statement)
    await page(50)
    return counters.pageMemoryHits === 1
  }

  test('is used if nothing changes, or only records outside the scope', async () => {
    expect(await isUsedAfter('select 1')).toBe(true)
    expect(await isUsedAfter('insert into export_changes (organization_id) values (5)')).toBe(true)
  })

  test('is not used after a change that is logged as a summary, for everything or for an organization of the scope', async () => {
    expect(await isUsedAfter('insert into export_changes default values')).toBe(false)
    expect(await isUsedAfter('insert into export_changes (organization_id) values (4)')).toBe(false)
  })
})
