import { beforeEach, expect, test } from 'bun:test'
import { readPage } from '../../../src/assessments/page.ts'
import { PageMemory } from '../../../src/assessments/page-memory.ts'
import { parseListQuery } from '../../../src/assessments/query-string.ts'
import { useDatabase } from './database.ts'
import { issueTokens, tokenOf } from './questions.ts'
import { partsOf } from './statements.ts'
import { PRODUCTS, reset } from './world.ts'

/** How a page is read when hints exist. Other files beside this one check that the answers are right. */

const db = useDatabase()
let memory: PageMemory
const SCOPE = { organizations: [1, 2, 3], products: PRODUCTS }
const OTHERS = [
  { organizations: [1, 2, 3, 4], products: PRODUCTS },
  { organizations: [1, 2, 3], products: [1] },
]

beforeEach(async () => {
  await reset(db.sql, 300)
  await issueTokens(db.sql, SCOPE, ...OTHERS)
  memory = new PageMemory()
})

/** The kinds of statements that a page of 50 sends; see partsOf. */
async function statementsFor(query: string, offset: number, of = SCOPE): Promise<string[]> {
  db.sent = []
  await readPage(db.pool, memory, tokenOf(of), parseListQuery(`page=50&offset=${offset}&${query}`))
  return partsOf(db.sent)
}

/** Changes the order of records, but not which records exist. */
const change = (organization: number) =>
  db.sql`update assessments set certified_at = certified_at + interval '1 day' where organization_id = ${organization}`

/** Requests one after the other, and the kind of statement of each. */
const WALKS: Record<string, [query: string, offset: number, parts: string][]> = {
  'the first page is counted, and the next pages are read from remembered places': [
    ['', 0, 'start and count'],
    ['', 50, 'place'],
    ['', 0, 'start'],
    ['', 50, 'place'],
  ],
  'a count is a hint for all orders, and a place for one order': [
    ['sort=user_name', 0, 'start and count'],
    ['sort=user_name&order=DESC', 40, 'start'],
    ['sort=proctor_name', 40, 'start'],
    ['sort=user_name', 50, 'place'],
  ],
  'a filter has its own hints': [
    ['', 0, 'start and count'],
    ['filter[legacy_record]=false', 50, 'start and count'],
    ['filter[organization_ids][]=1', 20, 'start and count'],
    ['filter[organization_ids][]=1', 0, 'start'],
  ],
  'a page beyond the end is counted once, and then known to be empty': [
    ['', 9_999, 'start and count'],
    ['', 9_999, 'end'],
  ],
  // The scope has 150 records. The page from 90 remembers its last record, which is near to the page from
  // 100.
  'a page nearer to the end than to a remembered place is read from the end': [
    ['', 0, 'start and count'],
    ['', 90, 'end'],
    ['', 149, 'end'],
    ['', 100, 'place'],
    ['sort=user_name', 50, 'start'],
    ['sort=user_name&order=DESC', 51, 'end'],
  ],
  'a deep page that is read again is read from the place where it ended': [
    ['', 0, 'start and count'],
    ['sort=user_name', 49, 'start'],
    ['sort=user_name', 49, 'place'],
  ],
}

test.each(Object.entries(WALKS))('%s', async (_, walk) => {
  for (const [query, offset, parts] of walk) expect(await statementsFor(query, offset)).toEqual([parts])
})

test('a write inside or outside the scope is corrected in the same statement', async () => {
  await statementsFor('', 0)
  for (const organization of [2, 5]) {
    await change(organization)
    expect(await statementsFor('', 50)).toEqual(['place'])
  }
})

test('1,000 or more changes make only the scopes with their organization count again', async () => {
  const load = (organization: number) =>
    db.sql.unsafe(`
      insert into assessments select n, 1, ${organization}, 1, now(), false from generate_series(${organization * 10000}, ${organization * 10000 + 1000}) n;
      insert into assessment_parts select n, n, 1, null, null, 2 from generate_series(${organization * 10000}, ${organization * 10000 + 1000}) n`)
  await statementsFor('', 0)
  await load(5)
  expect(await statementsFor('', 50)).toEqual(['place'])
  await load(2)
  expect(await statementsFor('', 50)).toEqual(['place', 'start and count'])
  expect(await statementsFor('', 50)).toEqual(['place'])
})

test('a hint older than the log of changes is discarded', async () => {
  await statementsFor('', 0)
  await change(2)
  await db.sql`delete from export_changes where position < (select max(position) from export_changes)`
  expect(await statementsFor('', 50)).toEqual(['place', 'start and count'])
})

test('a hint of a restored database is discarded, even if the positions are equal', async () => {
  await statementsFor('', 0)
  await db.sql`update export_changes set tag = gen_random_uuid()`
  expect(await statementsFor('', 50)).toEqual(['place', 'start and count'])
})

test('two scopes have separate hints, even with equal counts', async () => {
  const filters = ['', 'filter[legacy_record]=false']
  for (const filter of filters) await statementsFor(filter, 0)
  for (const other of OTHERS) {
    for (const filter of filters) {
      expect(await statementsFor(filter, 0, other)).toEqual(['start and count'])
      expect(await statementsFor(filter, 0, other)).toEqual(['start'])
    }
  }
})
