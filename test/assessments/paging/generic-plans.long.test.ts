import { beforeAll, expect, test } from 'bun:test'
import postgres from 'postgres'
import { requireAccess } from '../../../src/assessments/access.ts'
import { PageMemory } from '../../../src/assessments/page-memory.ts'
import { SERVING } from '../../../src/database/database.ts'
import { DIGEST_TYPE } from '../../../src/database/value-types.ts'
import type { Scope } from '../../support/oracle.ts'
import { INDEX, indexesOfRecords, PAGE, read, recordsRead } from './explain.ts'
import { scopeOf, useManyRecords } from './many-records.ts'
import { issueTokens, SORTED, tokenOf } from './questions.ts'

/** The generic plans of statements: connections keep these, and not plans for the values of a page. */

const many = useManyRecords()
let broad: Scope

beforeAll(async () => {
  const { sql } = many.database
  broad = (await scopeOf(many, many.organizations)).scope
  await issueTokens(sql, broad)
})

test.each(SORTED)(
  'the next page of a walk by $sort $order seeks its cursor, and reads little more than the page',
  async ({ sort, order }) => {
    const memory = new PageMemory()
    const token = tokenOf(broad)
    const { access, sets } = await requireAccess(many.database.sql, token)
    memory.noteAccess(token, access)
    memory.noteSets(access.scopeDigest, sets)
    for (const offset of [0, PAGE])
      await many.explainer.explainSent(sql => read(sql, memory, broad, { sort, order, offset }))
    const sent = await many.explainer.explainGeneric(sql =>
      read(sql, memory, broad, { sort, order, offset: 2 * PAGE }),
    )
    expect(sent).toHaveLength(1)
    const { whole = [] } = sent[0] ?? {}
    expect(indexesOfRecords(whole)).toEqual([INDEX[sort]])
    expect(recordsRead(whole)).toBeLessThanOrEqual(2 * PAGE)
  },
)

test('a connection plans a gathered page for its values five times, and then keeps one plan', async () => {
  const { scope, records } = await scopeOf(many, many.organizations.slice(300, 303))
  expect(records).toBeGreaterThan(PAGE)
  const memory = new PageMemory()
  const connection = postgres(many.database.url, {
    max: 1,
    types: DIGEST_TYPE,
    connection: SERVING as object,
  })
  await issueTokens(connection, scope)
  for (let time = 0; time < 8; time++) await read(connection, memory, scope, { offset: 10 * time })
  const plans = await connection`
    select custom_plans::integer as custom, generic_plans::integer as generic
    from pg_prepared_statements where custom_plans > 0 and statement like '%as "documents"%'`
  expect([...plans]).toEqual([{ custom: 5, generic: 3 }])
  await connection.end()
})
