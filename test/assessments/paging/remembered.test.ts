import { beforeEach, expect, test } from 'bun:test'
import { readPage } from '../../../src/assessments/page.ts'
import { PageMemory } from '../../../src/assessments/page-memory.ts'
import { parseListQuery } from '../../../src/assessments/query-string.ts'
import { useDatabase } from './database.ts'
import { issueTokens, tokenOf } from './questions.ts'
import { partsOf } from './statements.ts'
import { PRODUCTS, reset } from './world.ts'

/** What is asked of the database when something is remembered; that the answers are right is tested beside this. */

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

/** What a page of 50 asks of the database; see partsOf. */
async function asked(query: string, offset: number, of = SCOPE): Promise<string[]> {
  db.sent = []
  await readPage(db.pool, memory, tokenOf(of), parseListQuery(`page=50&offset=${offset}&${query}`))
  return partsOf(db.sent)
}

/** Changes an order without changing which records there are. */
const change = (organization: number) =>
  db.sql`update assessments set certified_at = certified_at + interval '1 day' where organization_id = ${organization}`

/** Questions one after the other, and how each is found. */
const WALKS: Record<string, [query: string, offset: number, parts: string][]> = {
  'the first page is counted, and the next ones are entered behind it': [
    ['', 0, 'start and count'],
    ['', 50, 'place'],
    ['', 0, 'start'],
    ['', 50, 'place'],
  ],
  'the count is of all orders, and a place of one': [
    ['sort=user_name', 0, 'start and count'],
    ['sort=user_name&order=DESC', 40, 'start'],
    ['sort=proctor_name', 40, 'start'],
    ['sort=user_name', 50, 'place'],
  ],
  'a filter has hints of its own': [
    ['', 0, 'start and count'],
    ['filter[legacy_record]=false', 50, 'start and count'],
    ['filter[organization_ids][]=1', 20, 'start and count'],
    ['filter[organization_ids][]=1', 0, 'start'],
  ],
  'a page beyond the end is known to be empty, and is counted when it is not': [
    ['', 9_999, 'start and count'],
    ['', 9_999, 'end'],
  ],
  // Of 150 records. The page from 90 on leaves its last record, which the one from 100 on is near to.
  'a page nearer to the end than to a remembered place is entered from the end': [
    ['', 0, 'start and count'],
    ['', 90, 'end'],
    ['', 149, 'end'],
    ['', 100, 'place'],
    ['sort=user_name', 50, 'start'],
    ['sort=user_name&order=DESC', 51, 'end'],
  ],
  'the same deep page is not walked to a second time: it is entered where it ended': [
    ['', 0, 'start and count'],
    ['sort=user_name', 49, 'start'],
    ['sort=user_name', 49, 'place'],
  ],
}

test.each(Object.entries(WALKS))('%s', async (_, walk) => {
  for (const [query, offset, parts] of walk) expect(await asked(query, offset)).toEqual([parts])
})

test('a write to an organization of the scope, or to another one, is corrected in the same statement', async () => {
  await asked('', 0)
  for (const organization of [2, 5]) {
    await change(organization)
    expect(await asked('', 50)).toEqual(['place'])
  }
})

test('a write of 1,000 changes and more makes the scopes with its organization count anew, and no others', async () => {
  const load = (organization: number) =>
    db.sql.unsafe(`
      insert into assessments select n, 1, ${organization}, 1, now(), false from generate_series(${organization * 10000}, ${organization * 10000 + 1000}) n;
      insert into assessment_parts select n, n, 1, null, null, 2 from generate_series(${organization * 10000}, ${organization * 10000 + 1000}) n`)
  await asked('', 0)
  await load(5)
  expect(await asked('', 50)).toEqual(['place'])
  await load(2)
  expect(await asked('', 50)).toEqual(['place', 'start and count'])
  expect(await asked('', 50)).toEqual(['place'])
})

test('a hint that is older than the log of changes is read anew', async () => {
  await asked('', 0)
  await change(2)
  await db.sql`delete from export_changes where position < (select max(position) from export_changes)`
  expect(await asked('', 50)).toEqual(['place', 'start and count'])
})

test('a hint of a database that was set back is read anew, although the positions are the same', async () => {
  await asked('', 0)
  await db.sql`update export_changes set tag = gen_random_uuid()`
  expect(await asked('', 50)).toEqual(['place', 'start and count'])
})

test('two scopes have hints of their own, even with equal counts', async () => {
  const filters = ['', 'filter[legacy_record]=false']
  for (const filter of filters) await asked(filter, 0)
  for (const other of OTHERS) {
    for (const filter of filters) {
      expect(await asked(filter, 0, other)).toEqual(['start and count'])
      expect(await asked(filter, 0, other)).toEqual(['start'])
    }
  }
})
