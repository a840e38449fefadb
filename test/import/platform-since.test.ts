import { afterAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { explainQueries } from '../../src/import/platform/explain.ts'
import { readQueries } from '../../src/import/platform/queries.ts'
import { type PlanNode, partsWarning } from '../../src/import/platform/since.ts'
import { cleanUp } from '../support/executable.ts'
import { QUERIES, usePlatform } from '../support/platform-example.ts'
import { folderOf } from './csv-files.ts'

afterAll(cleanUp)

describe('axport import --explain', () => {
  const platform = usePlatform()
  const SINCE = `current_setting('axport.since')::timestamptz`

  /** The warning about these two queries on the platform of the example. */
  async function warningFor(parts: string, assessments?: string): Promise<string | undefined> {
    const columns =
      'stage_no as id, s.observation_no as assessment_id, label as name, seen_at as certified_at'
    const queries = folderOf({
      ...(assessments && { 'assessments.sql': `select observation_no as id from ${assessments}` }),
      'assessment_parts.sql': `select ${columns}, observer_no as proctor_id from ${parts}`,
    })
    const explained = await explainQueries(platform.url, readQueries(queries))
    expect(explained.flatMap(({ error, missing }) => error ?? missing)).toEqual([])
    return explained.at(-1)?.warning
  }
  const LOSES =
    ': an assessment that is given with some of its parts loses the others; choose parts by their assessment, as in docs/operate/feed.md'
  const OWN = `assessment_parts.sql chooses parts by their own change (axport.since)${LOSES}`
  const ALONE = `assessment_parts.sql uses axport.since and assessments.sql does not${LOSES}`
  const changed = `where changed_at >= ${SINCE}`
  const either = `observations o ${changed} or exists (
    select from stages s where s.observation_no = o.observation_no and s.changed_at >= ${SINCE})`

  test.each<[string, string, string, string | undefined]>([
    ['their own change', `stages s ${changed}`, OWN, `observations ${changed}`],
    ['their own change, also beside assessments chosen by both changes', `stages s ${changed}`, OWN, either],
    [
      'their own change, although they are joined with the assessments',
      `stages s join observations o using (observation_no) where s.changed_at >= ${SINCE} order by rank`,
      OWN,
      `observations ${changed}`,
    ],
    [
      'one change or the other, which leaves the other parts out',
      `stages s join observations o using (observation_no) where s.changed_at >= ${SINCE} or o.changed_at >= ${SINCE} order by rank`,
      OWN,
      either,
    ],
    [
      'their own change, which a parameter hides',
      `stages s where changed_at >= (select ${SINCE})`,
      OWN,
      `observations ${changed}`,
    ],
    [
      'their own change, in a query that is materialized',
      `(with s as materialized (select * from stages ${changed}) select * from s) s`,
      OWN,
      `observations ${changed}`,
    ],
    ['a change, but not the assessments', `stages s ${changed}`, ALONE, 'observations'],
    ['a change, without assessments', `stages s ${changed}`, ALONE, undefined],
  ])('warns of parts that are chosen by %s', async (_, parts, warning, assessments) => {
    expect(await warningFor(parts, assessments)).toBe(warning)
  })

  test.each<[string, string, string]>([
    [
      'the change of their assessment',
      `stages s where exists (select from observations o where o.observation_no = s.observation_no and o.changed_at >= ${SINCE})`,
      `observations ${changed}`,
    ],
    [
      'the change of their assessment, which a parameter hides',
      `stages s join observations o using (observation_no) where o.changed_at >= (select ${SINCE})`,
      `observations ${changed}`,
    ],
    ['nothing', 'stages s', `observations ${changed}`],
    [
      'the change of the row in which they are stored',
      `(select observation_no * 2 + 1 as stage_no, observation_no, '' as label, finished_at as seen_at, 1 as observer_no
       from observations ${changed}) s`,
      `observations ${changed}`,
    ],
  ])('does not warn of parts that are chosen by %s', async (_, parts, assessments) => {
    expect(await warningFor(parts, assessments)).toBeUndefined()
  })

  test('does not warn of the example', async () => {
    expect(readFileSync(join(QUERIES, 'assessment_parts.sql'), 'utf8')).toContain('axport.since')
    const explained = await explainQueries(platform.url, readQueries(QUERIES))
    expect(explained.map(({ file, warning }) => [file, warning]).at(-1)).toEqual([
      'assessment_parts.sql',
      undefined,
    ])
  })
})

describe('the warning about the plan of a parts query', () => {
  const since = "(current_setting('axport.since'::text))::timestamp with time zone"
  const scan = (table: string, alias: string, condition?: object): PlanNode => ({
    'Node Type': 'Seq Scan',
    'Relation Name': table,
    Schema: 'app',
    Alias: alias,
    Output: [`${/^\w+$/.test(alias) ? alias : `"${alias}"`}.no`],
    ...condition,
  })
  const assessments = scan('observations', 'o', { Filter: `(o.at >= ${since})` })

  test.each<[string, PlanNode]>([
    ['an index', { ...scan('stages', 's'), 'Index Cond': `(s.at >= ${since})` }],
    ['a quoted alias', scan('stages', 'my stages', { Filter: `("my stages".at >= ${since})` })],
    [
      'partitions',
      {
        'Node Type': 'Append',
        Plans: [scan('stages_1', 's_1', { Filter: `(s_1.at >= ${since})` }), scan('stages_2', 's_2')],
      },
    ],
    [
      'another table of the same name',
      scan('observations', 'o', { Schema: 'parts', Filter: `(o.at >= ${since})` }),
    ],
  ])('is given for a condition on %s', (_, parts) => {
    expect(partsWarning(parts, assessments)).toContain('by their own change')
  })

  test.each(['s', 'axport'])(
    'is not given for a condition on the assessment, joined to parts with the alias %s',
    alias => {
      const parts = {
        'Node Type': 'Hash Join',
        Output: [`${alias}.no`],
        'Join Filter': `((o.at >= ${since}) AND (${alias}.state = 'x'::text))`,
        Plans: [scan('stages', alias), scan('observations', 'o')],
      }
      expect(partsWarning(parts, assessments)).toBeUndefined()
    },
  )
})
