import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { readPage } from '../../src/assessments/page.ts'
import { PageMemory } from '../../src/assessments/page-memory.ts'
import { parseListQuery } from '../../src/assessments/parse.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { readerOf } from './plain.ts'
import { partsOf } from './statements.ts'
import { PRODUCTS, reset } from './world.ts'

/** What is asked of the database when something is remembered; that the answers are right is tested beside this. */

let database: TestDatabase
let pool: Sql
let memory: PageMemory
let sent: string[] = []
const reader = readerOf({ organizations: [1, 2, 3], products: PRODUCTS })

beforeAll(async () => {
  database = await openTestDatabase('postgres')
  pool = postgres(database.url, { max: 1, debug: (_connection, text) => sent.push(text) })
})
afterAll(async () => {
  await pool?.end()
  await database?.close()
})
beforeEach(async () => {
  await reset(database.sql, 300)
  memory = new PageMemory()
})

/** What a page of 50 asks of the database; see partsOf. */
async function asked(query: string, offset: number, of = reader): Promise<string[]> {
  sent = []
  await readPage(pool, memory, of, parseListQuery(`page=50&offset=${offset}&${query}`))
  return partsOf(sent)
}

/** Changes an order without changing which records there are. */
const change = (organization: number) =>
  database.sql`update assessments set certified_at = certified_at + interval '1 day' where organization_id = ${organization}`

test('the first page is counted, and the next ones are entered behind it with no more than one statement', async () => {
  expect(await asked('', 0)).toEqual(['start and count'])
  expect(await asked('', 50)).toEqual(['seek'])
  expect(await asked('', 100)).toEqual(['seek'])
  expect(await asked('', 0)).toEqual(['start'])
  expect(await asked('', 50)).toEqual(['seek'])
})

test('the count is of all orders, and an edge of one', async () => {
  await asked('sort=user_name', 0)
  expect(await asked('sort=user_name&order=DESC', 50)).toEqual(['start'])
  expect(await asked('sort=proctor_name', 50)).toEqual(['start'])
  expect(await asked('sort=user_name', 50)).toEqual(['seek'])
})

test('a write to an organization of the scope is noticed by one more question, and all is read anew', async () => {
  await asked('', 0)
  await change(2)
  expect(await asked('', 50)).toEqual(['seek', 'versions', 'start and count'])
  expect(await asked('', 100)).toEqual(['seek'])
})

test('a write to an organization outside the scope costs one small question, once, and nothing is forgotten', async () => {
  await asked('', 0)
  await change(5)
  expect(await asked('', 50)).toEqual(['seek', 'versions'])
  expect(await asked('', 100)).toEqual(['seek'])
})

test('a record that leaves the scope, or comes into it, is a write to an organization of the scope', async () => {
  for (const [from, to] of [
    [1, 6],
    [6, 1],
  ] as const) {
    await asked('', 0)
    await database.sql`
      update assessments set organization_id = ${to}
      where id = (select min(id) from assessments where organization_id = ${from})`
    expect(await asked('', 50)).toEqual(['seek', 'versions', 'start and count'])
  }
})

test('a filter has facts of its own', async () => {
  await asked('', 0)
  expect(await asked('filter[legacy_record]=false', 50)).toEqual(['start and count'])
  expect(await asked('filter[organization_ids][]=1', 50)).toEqual(['start and count'])
  expect(await asked('filter[organization_ids][]=1', 50)).toEqual(['start'])
})

test('a filter of organizations is disturbed by writes to these alone', async () => {
  const one = 'filter[organization_ids][]=1'
  await asked(one, 0)
  await change(2)
  expect(await asked(one, 0)).toEqual(['start', 'versions'])
  await change(1)
  expect(await asked(one, 0)).toEqual(['start', 'versions', 'start and count'])
})

test('a page beyond the end is known to be empty, and is counted when it is not', async () => {
  expect(await asked('', 9_999)).toEqual(['start and count'])
  expect(await asked('', 9_999)).toEqual(['start'])
})

test('a page from offset 10,000 on is counted first when nothing is known', async () => {
  expect(await asked('', 10_000)).toEqual(['start and count', 'start'])
  expect(await asked('', 10_000)).toEqual(['start'])
  await change(1)
  expect(await asked('', 10_000)).toEqual(['start', 'versions', 'start and count'])
})

test('a page nearer to the end than to the last remembered place is entered from the end', async () => {
  await asked('', 0)
  // Of 150 records.
  expect(await asked('', 80)).toEqual(['end'])
  expect(await asked('', 149)).toEqual(['end'])
  // The one that was read from the end has left its last record, too.
  expect(await asked('', 130)).toEqual(['seek'])
  // 50 are skipped from either side, then 51 from the start against 49 from the end.
  expect(await asked('sort=user_name', 50)).toEqual(['start'])
  expect(await asked('sort=user_name', 51)).toEqual(['end'])
})

test('another scope, of which the other facts are as good, has facts of its own', async () => {
  const filters = ['', 'filter[legacy_record]=false']
  for (const filter of filters) await asked(filter, 0)
  const wider = readerOf({ organizations: [1, 2, 3, 4], products: PRODUCTS })
  const fewer = readerOf({ organizations: [1, 2, 3], products: [1] })
  for (const other of [wider, fewer]) {
    for (const filter of filters) {
      expect(await asked(filter, 0, other)).toEqual(['start and count'])
      expect(await asked(filter, 0, other)).toEqual(['start'])
    }
  }
})

test('a reader whose scope and request have nothing in common asks nothing', async () => {
  expect(await asked('filter[organization_ids][]=5', 0)).toEqual([])
  expect(sent).toEqual([])
})

test('a change that is rolled back, and one that changes nothing, is none', async () => {
  await asked('', 0)
  await database.sql`update assessments set legacy_record = legacy_record`
  const undo = database.sql.begin(async sql => {
    await sql`delete from assessments where organization_id = 1`
    throw new Error('undone')
  })
  await undo.catch(() => {})
  expect(await asked('', 50)).toEqual(['seek'])
})
