import { beforeEach, expect, test } from 'bun:test'
import { PageMemory } from '../../../src/assessments/page-memory.ts'
import type { Oracle } from '../../support/oracle.ts'
import { readOracle } from '../../support/stored-platform.ts'
import { useDatabase } from './database.ts'
import { useWay, WALKED } from './limits.ts'
import { EACH_SORT, FILTERS, issueTokens, type ListParameters, readBody, rightPage } from './questions.ts'
import { kindsOf } from './statements.ts'
import { PRODUCTS, reset } from './world.ts'

/** The count that writers keep, or that a process remembers, may be wrong after writes past the triggers. */

const SCOPE = { organizations: [1, 2, 3, 4], products: PRODUCTS }
useWay(WALKED)
const db = useDatabase()
let oracle: Oracle
let memory: PageMemory

beforeEach(async () => {
  // What a test has written past the triggers has no source.
  await db.sql`truncate export_records`
  await reset(db.sql, 240)
  await issueTokens(db.sql, SCOPE)
  oracle = await readOracle(db.sql)
  memory = new PageMemory()
})

/** Writes past all triggers. */
const pastTriggers = (statement: string) =>
  db.sql.begin(async sql => {
    await sql`set local session_replication_role = replica`
    expect((await sql.unsafe(statement)).count).toBeGreaterThan(0)
  })

const countOf = (body: string) => (JSON.parse(body) as { meta: { count: number } }).meta.count

/** Walks as contract L7 describes it: to the count of the last page. Compares the last page, and all ids. */
async function expectWhole(parameters: ListParameters): Promise<void> {
  const ids: number[] = []
  let body = ''
  let offset = 0
  do {
    body = await readBody(db.pool, memory, SCOPE, parameters, offset)
    ids.push(...(JSON.parse(body) as { data: { id: number }[] }).data.map(({ id }) => id))
    offset += parameters.size
  } while (offset < countOf(body))
  expect(body).toBe(rightPage(oracle, SCOPE, parameters, offset - parameters.size))
  expect(ids).toHaveLength(countOf(body))
}

const WRONG: [string, string][] = [
  ['too low', 'update export_counts set records = greatest(1, records - 3)'],
  ['too high', 'update export_counts set records = records + 3'],
  ['missing', 'delete from export_counts'],
]

test.each(WRONG)('a walk has every record if the kept counts are %s before it', async (_, statement) => {
  await pastTriggers(statement)
  for (const { sort, order } of EACH_SORT) {
    memory = new PageMemory()
    // The records of a filter are counted.
    for (const filter of [0, FILTERS.indexOf('filter[start_date]=2025-01-05')])
      for (const size of [7, 60]) await expectWhole({ sort, order, filter, size })
  }
})

test.each(WRONG)(
  'a walk over two processes has every record if the kept counts are %s',
  async (_, statement) => {
    await pastTriggers(statement)
    for (const { sort, order } of EACH_SORT) {
      const memories = [new PageMemory(), new PageMemory()] as const
      const parameters: ListParameters = { sort, order, filter: 0, size: 20 }
      const ids: number[] = []
      let [offset, count] = [0, 0]
      do {
        const body = await readBody(
          db.pool,
          memories[(offset / 20) % 2 === 0 ? 0 : 1],
          SCOPE,
          parameters,
          offset,
        )
        ids.push(...(JSON.parse(body) as { data: { id: number }[] }).data.map(({ id }) => id))
        count = countOf(body)
        offset += 20
      } while (offset < count)
      const whole = JSON.parse(oracle.list(SCOPE, { lists: {} })).meta.count as number
      expect([new Set(ids).size, ids.length]).toEqual([whole, whole])
    }
  },
)

test.each([
  ['', 'true'],
  ['filter[legacy_record][]=false', 'not legacy_record'],
  ['filter[start_date]=2025-01-05', "certified_on >= '2025-01-05'"],
])(
  'a walk with the filter "%s" has every record if records are added or removed past the triggers in its middle',
  async (text, condition) => {
    const filter = FILTERS.indexOf(text)
    for (const statement of [
      `delete from export_records where organization_id = 2 and id % 40 = 10`,
      `insert into export_records select id + 100000, organization_id, product_id, user_id, seid, is_archived,
      legacy_record, proctor_ids, certified_on + 400, user_name_key, proctor_name_key, product_name_key, document
      from export_records where organization_id = 3`,
    ]) {
      const parameters: ListParameters = { sort: 'certified_on', order: 'ASC', filter, size: 50 }
      await readBody(db.pool, memory, SCOPE, parameters, 0)
      await pastTriggers(statement)
      const [present] = await db.sql<{ count: number }[]>`
        select count(*)::integer from export_records
        where organization_id = any (${SCOPE.organizations}) and product_id = any (${SCOPE.products}) and ${db.sql.unsafe(condition)}`
      let [offset, count, records] = [0, 0, 0]
      do {
        const body = await readBody(db.pool, memory, SCOPE, parameters, offset)
        records += (JSON.parse(body) as { data: object[] }).data.length
        count = countOf(body)
        offset += 50
      } while (offset < count)
      expect([records, count]).toEqual([present?.count ?? 0, present?.count ?? 0])
    }
  },
)

test('a remembered page that contradicts its count is counted from the records at once', async () => {
  const parameters: ListParameters = { sort: 'certified_on', order: 'ASC', filter: 0, size: 50 }
  const count = countOf(await readBody(db.pool, memory, SCOPE, parameters, 0))
  await pastTriggers('delete from export_records where organization_id = 2 and id % 40 = 10')
  db.sent = []
  await readBody(db.pool, memory, SCOPE, parameters, count - 30)
  expect(kindsOf(db.sent)).toEqual(['cursor', 'counted'])
})

test.each(['ASC', 'DESC'] as const)(
  'the only page of a list by product_name, %s, has every record if records of a product were left with other names',
  async order => {
    await reset(db.sql, 90)
    await issueTokens(db.sql, SCOPE)
    oracle = await readOracle(db.sql)
    await pastTriggers(
      "update export_records set product_name_key = case when id % 20 = 0 then 'aaa' else 'zzz' end where product_id = 3",
    )
    const parameters: ListParameters = { sort: 'product_name', order, filter: 0, size: 100 }
    const { data, meta } = JSON.parse(await readBody(db.pool, memory, SCOPE, parameters, 0))
    expect(meta.count).toBe(countOf(rightPage(oracle, SCOPE, parameters, 0)))
    expect(data).toHaveLength(meta.count)
  },
  20_000,
)
