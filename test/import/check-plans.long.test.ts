import { expect, test } from 'bun:test'
import { findChanges } from '../../src/import/changes.ts'
import { problems } from '../../src/import/checks.ts'
import { ndjson } from '../../src/import/ndjson.ts'
import { prepareStaging } from '../../src/import/prepare.ts'
import { stageRows } from '../../src/import/stage.ts'
import {
  assessment,
  educator,
  multiPart,
  ndjsonOf,
  ORGANIZATION,
  organization,
  PRODUCT,
  part,
  proctor,
  product,
  range,
} from '../support/fixtures.ts'
import { useDatabase } from '../support/import.ts'

/** A node of a plan, as EXPLAIN (ANALYZE, FORMAT JSON) prints it. */
interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Actual Loops': number
  Plans?: Plan[]
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]

const database = useDatabase()

/** With fewer people, the planner of Postgres 15 chooses other plans. */
const PEOPLE = 20_000
const PROCTORS = 10

/** Ids of parts that do not rise: otherwise no check would compare parts with each other. */
const assessmentWithParts = (index: number) => {
  const [id, proctor_id] = [1_000_000 + 10 * index, 1 + (index % PROCTORS)]
  const fields = { user_id: 101 + index }
  if (index % 2 === 0) return assessment(id, { ...fields, proctor_id })
  return multiPart(id, [part(id + 2, { proctor_id }), part(id + 1, { proctor_id })], fields)
}

test('the checks of a first load with few proctors read no large table once for each row', async () => {
  const lines = [
    ...[organization(ORGANIZATION), product(PRODUCT)],
    ...range(PROCTORS, index => proctor(1 + index)),
    ...range(PEOPLE, index => educator(101 + index)),
    ...range(PEOPLE, assessmentWithParts),
  ]
  const chunks = (async function* () {
    yield Buffer.from(ndjsonOf(lines))
  })()
  const plan = await database.sql.begin(async sql => {
    // Once for each row takes minutes.
    await sql`set local statement_timeout = '60s'`
    const source = ndjson({ chunks })
    const staged = await stageRows(sql, source, false, () => {})
    expect(staged.unordered).toContain('part')
    await prepareStaging(sql, staged, false)
    await findChanges(sql)
    const query = problems(source, staged, true)
    const [row] = await sql.unsafe<{ 'QUERY PLAN': { Plan: Plan }[] }[]>(
      `explain (analyze, format json) ${query}`,
    )
    return row?.['QUERY PLAN'][0]?.Plan as Plan
  })
  const repeated = nodesOf(plan).filter(
    node => node['Node Type'] === 'Seq Scan' && node['Actual Loops'] > 100,
  )
  expect(repeated.map(node => node['Relation Name'])).toEqual([])
})
