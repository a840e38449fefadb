import { afterAll, beforeAll, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { PageMemory } from '../../src/assessments/page-memory.ts'
import { ORDERS } from '../../src/assessments/parameters.ts'
import type { Runner } from '../../src/postgres/statement.ts'
import { openTestDatabase, type TestDatabase } from '../support/service.ts'
import { ASKED_SORTS, type Asked, History, readBody, type Scope } from './plain.ts'
import { partsOf } from './statements.ts'
import { EMPTY } from './world.ts'

/** Pages beyond the offset from which on a server that knows nothing counts first. */

const RECORDS = 12_000
const SCOPES: Scope[] = [
  { organizations: [1, 2, 3], products: [1, 2] },
  { organizations: [1, 2, 3, ...EMPTY], products: [1, 2] },
]

let database: TestDatabase
let pool: Sql
let history: History
let sent: string[] = []

beforeAll(async () => {
  database = await openTestDatabase('postgres')
  // As a view has it, so that the truth and the read model are of the same rows.
  await database.sql.unsafe(`
    create table rendered as
    select n::bigint as id, (1 + n % 3)::bigint as organization_id, (1 + n % 2)::bigint as product_id, 1::bigint as user_id,
      null::text as seid, 'active' as record_status, false as legacy_record, '{1}'::bigint[] as proctor_ids,
      date '2025-01-01' + n % 100 as certified_on, ('user ' || n % 77) collate "C" as user_name_key,
      ('proctor ' || n % 5) collate "C" as proctor_name_key, ('product ' || n % 2) collate "C" as product_name_key,
      '' as search_text, '{"id":' || n || '}' as document
    from generate_series(1, ${RECORDS}) n;
    insert into export_records table rendered`)
  pool = postgres(database.url, { max: 1, debug: (_connection, text) => sent.push(text) })
  history = new History(database.sql)
  await history.start('rendered')
  await history.record(0)
})
afterAll(async () => {
  await pool?.end()
  await database?.close()
})

const orders = ASKED_SORTS.flatMap(sort => ORDERS.map(order => ({ sort, order })))
const OFFSETS = [
  9_999,
  10_000,
  10_001,
  11_111,
  RECORDS - 100,
  RECORDS - 37,
  RECORDS - 1,
  RECORDS,
  RECORDS + 1,
]

test.each(orders)(
  'far pages by $sort $order are right, from an empty memory and then from its edges',
  async order => {
    const asked: Asked = { ...order, filter: 0, size: 100 }
    for (const scope of SCOPES) {
      for (const offset of OFFSETS) {
        const memory = new PageMemory()
        const expected = await history.page(0, scope, asked, offset)
        const next = await history.page(0, scope, asked, offset + 100)
        sent = []
        expect(await readBody(pool, memory, scope, asked, offset)).toBe(expected)
        const second = offset < RECORDS ? 'end' : 'start'
        expect(partsOf(sent)).toEqual(offset < 10_000 ? ['start and count'] : ['start and count', second])
        expect(await readBody(pool, memory, scope, asked, offset)).toBe(expected)
        expect(await readBody(pool, memory, scope, asked, offset + 100)).toBe(next)
      }
    }
  },
)

test('a write between the count and the far page makes both be read anew', async () => {
  const [scope, asked] = [
    SCOPES[0] as Scope,
    { sort: 'user_name', order: 'ASC', filter: 0, size: 100 } as const,
  ]
  let statements = 0
  const writing: Runner = {
    unsafe: async (text, parameters, options) => {
      statements += 1
      if (statements === 2) {
        for (const table of ['rendered', 'export_records'])
          await database.sql.unsafe(`delete from ${table} where id % 2 = 0`)
      }
      const query = pool.unsafe(text, parameters, options)
      return await (options.bytes ? query.raw() : query)
    },
  }
  sent = []
  const body = await readBody(writing, new PageMemory(), scope, asked, 10_050)
  await history.forget()
  await history.record(0)
  expect(body).toBe(await history.page(0, scope, asked, 10_050))
  expect(partsOf(sent)).toEqual(['start and count', 'end', 'versions', 'start and count'])
})
