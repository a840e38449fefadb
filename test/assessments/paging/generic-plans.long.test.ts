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
  // A full log: a plan that reads more of it than the rows after the marks would show.
  await sql`insert into export_changes (organization_id) select -1 from generate_series(1, 9000)`
  await sql`vacuum analyze export_changes`
})

test.each(SORTED)(
  'the next page of a walk by $sort $order seeks its cursor, and reads only the end of the log',
  async ({ sort, order }) => {
    const memory = new PageMemory()
    const token = tokenOf(broad)
    memory.noteAccess(token, await requireAccess(many.database.sql, token))
    for (const offset of [0, PAGE])
      await many.explainer.explainSent(sql => read(sql, memory, broad, { sort, order, offset }))
    const sent = await many.explainer.explainGeneric(sql =>
      read(sql, memory, broad, { sort, order, offset: 2 * PAGE }),
    )
    expect(sent).toHaveLength(1)
    const { whole = [] } = sent[0] ?? {}
    expect(indexesOfRecords(whole)).toEqual([INDEX[sort]])
    expect(recordsRead(whole)).toBeLessThanOrEqual(2 * PAGE)
    const ofLog = whole.filter(node => node['Relation Name'] === 'export_changes')
    expect(ofLog.length).toBeGreaterThan(0)
    for (const node of ofLog) {
      expect(node['Index Name']).toBe('export_changes_pkey')
      expect(node['Actual Rows']).toBeLessThanOrEqual(1)
      expect(node['Rows Removed by Filter'] ?? 0).toBe(0)
    }
  },
)
