import { beforeEach, expect, test } from 'bun:test'
import { readPage } from '../../../src/assessments/page.ts'
import { PageMemory } from '../../../src/assessments/page-memory.ts'
import { listQuery } from '../../support/list-query.ts'
import { useDatabase } from './database.ts'
import { issueTokens, tokenOf } from './questions.ts'
import { kindsOf } from './statements.ts'
import { PRODUCTS, reset } from './world.ts'

/** How a page is read from what is remembered. Other files beside this one check that the answers are right. */

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

/** The kinds of statements that a page of 50 sends; see kindsOf. */
async function statementsFor(query: string, offset: number, of = SCOPE): Promise<string[]> {
  db.sent = []
  await readPage(db.pool, memory, tokenOf(of), listQuery(`page=50&offset=${offset}&${query}`))
  return kindsOf(db.sent)
}

/** Changes the order of records, but not which records exist. */
const change = (organization: number) =>
  db.sql`
    update assessments set certified_at = certified_at + interval '1 day'
    where organization_id = ${organization} and id < 150`

const COUNTED = ['state', 'spread', 'start']

/** Requests one after the other, and the kinds of the statements of each. */
const WALKS: Record<string, [query: string, offset: number, kinds: string | string[]][]> = {
  'the first page is counted, and the next pages are read from cursors': [
    ['', 0, COUNTED],
    ['', 50, 'remembered cursor'],
    ['', 0, 'remembered start'],
    ['', 50, 'remembered cursor'],
  ],
  'a count serves all orders, and a cursor one order': [
    ['sort=user_name', 0, COUNTED],
    ['sort=user_name&order=DESC', 40, 'remembered start'],
    ['sort=proctor_name', 40, 'remembered start'],
    ['sort=user_name', 50, 'remembered cursor'],
  ],
  'each filter has its own count': [
    ['', 0, COUNTED],
    ['filter[legacy_record]=false', 20, ['state', 'spread', 'count', 'start']],
    ['filter[organization_ids][]=1', 20, COUNTED],
    ['filter[organization_ids][]=1', 0, 'remembered start'],
  ],
  'a page beyond the end is counted once, and then known to be empty': [
    ['', 9_999, COUNTED],
    ['', 9_999, 'remembered end'],
  ],
  // The scope has 150 records.
  'a page near to the end is read from the end once a page has found the end where the count says': [
    ['', 0, COUNTED],
    ['sort=user_name', 90, 'remembered start'],
    ['', 149, 'remembered cursor'],
    ['sort=proctor_name', 90, 'remembered end'],
    ['sort=proctor_name', 40, 'remembered start'],
    ['sort=proctor_name&order=DESC', 51, 'remembered end'],
  ],
  'a deep page that is read again is read from the cursor where it ended': [
    ['', 0, COUNTED],
    ['sort=user_name', 45, 'remembered start'],
    ['sort=user_name', 45, 'remembered cursor'],
  ],
}

test.each(Object.entries(WALKS))('%s', async (_, walk) => {
  for (const [query, offset, kinds] of walk)
    expect(await statementsFor(query, offset)).toEqual([kinds].flat())
})

test('a page that is read from the end does not find the end for a later mark', async () => {
  await statementsFor('', 0)
  await statementsFor('', 149)
  await change(5)
  expect(await statementsFor('sort=user_name', 140)).toEqual(['remembered end'])
  expect(await statementsFor('sort=proctor_name', 140)).toEqual(['remembered start'])
})

const RECOUNTED = ['remembered cursor', 'state', 'spread', 'start']

test('a write in the scope or outside it is corrected by the statement that reads the page', async () => {
  await statementsFor('', 0)
  for (const organization of [5, 2]) {
    await change(organization)
    expect(await statementsFor('', 50)).toEqual(['remembered cursor'])
    await statementsFor('', 0)
  }
})

test('1,000 or more changes make only the scopes with their organization count again', async () => {
  const load = (organization: number) =>
    db.sql.unsafe(`
      insert into assessments select n, 1, ${organization}, 1, now(), false from generate_series(${organization * 10000}, ${organization * 10000 + 1000}) n;
      insert into assessment_parts select n, n, 1, null, null, 2 from generate_series(${organization * 10000}, ${organization * 10000 + 1000}) n`)
  await statementsFor('', 0)
  await load(5)
  expect(await statementsFor('', 50)).toEqual(['remembered cursor'])
  await load(2)
  expect(await statementsFor('', 50)).toEqual(RECOUNTED)
  expect(await statementsFor('', 50)).toEqual(['remembered cursor'])
})

test('a count older than the log of changes is discarded', async () => {
  await statementsFor('', 0)
  await change(2)
  await db.sql`delete from export_changes where position < (select max(position) from export_changes)`
  expect(await statementsFor('', 50)).toEqual(RECOUNTED)
})

test('a count of a restored database is discarded, even if the positions are equal', async () => {
  await statementsFor('', 0)
  await db.sql`update export_changes set tag = gen_random_uuid()`
  expect(await statementsFor('', 50)).toEqual(RECOUNTED)
})

test('two scopes have separate counts, even equal ones', async () => {
  const filters = ['', 'filter[legacy_record]=false']
  for (const filter of filters) await statementsFor(filter, 0)
  for (const other of OTHERS) {
    for (const filter of filters) {
      expect((await statementsFor(filter, 0, other)).at(1)).toBe('spread')
      expect(await statementsFor(filter, 0, other)).toEqual(['remembered start'])
    }
  }
})
