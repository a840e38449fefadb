import { beforeAll, expect, test } from 'bun:test'
import { requireAccess } from '../../../src/assessments/access.ts'
import { PageMemory } from '../../../src/assessments/page-memory.ts'
import type { Scope } from '../../support/oracle.ts'
import { INDEX, indexesOfRecords, PAGE, read, recordsRead } from './explain.ts'
import { scopeOf, useManyRecords } from './many-records.ts'
import { issueTokens, SORTED, tokenOf } from './questions.ts'

/** The generic plans of the statements of a walk: connections keep these, and not plans for the values of a page. */

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
