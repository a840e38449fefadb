import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import fc from 'fast-check'
import postgres, { type ReservedSql, type Sql } from 'postgres'
import { cleanUp } from '../support/executable.ts'
import { useDatabase } from '../support/import.ts'
import { exported, round, usePlatform } from '../support/platform-example.ts'
import { holds } from '../support/property.ts'

setDefaultTimeout(120_000)
afterAll(cleanUp)

const platform = usePlatform()
const fed = useDatabase()
const loaded = useDatabase()

/** In seconds. No transaction of this test stays open that long. */
const OVERLAP = 120

type Change = [what: string, id: number, text: string]
type Step = { change: Change } | { commit: number } | 'round'

/** The changes that users of the platform make. Each locks the row with the given id. */
const CHANGES: Record<string, (sql: ReservedSql, id: number, text: string) => PromiseLike<unknown>> = {
  'person renamed': (sql, id, text) => sql`update people set family = ${text} where person_no = ${id}`,
  'person left': (sql, id) => sql`update people set left_on = '2026-11-20' where person_no = ${id}`,
  'district renamed': (sql, id, text) =>
    sql`update districts set title = ${text} where district_no = ${id % 5}`,
  'observation removed': (sql, id) =>
    sql`update observations set removed_at = now() where observation_no = ${10 * id}`,
  'observation restored': (sql, id) =>
    sql`update observations set removed_at = null where observation_no = ${10 * id}`,
  'observation reopened': (sql, id) =>
    sql`update observations set state = 'under_way', finished_at = null where observation_no = ${10 * id}`,
  'observation completed': (sql, id) =>
    sql`update observations set state = 'complete', finished_at = now() where observation_no = ${10 * id}`,
  'stage removed': (sql, id) => sql`update stages set removed_at = now() where stage_no = ${10 * id + 1}`,
  'stage restored': (sql, id) => sql`update stages set removed_at = null where stage_no = ${10 * id + 1}`,
  'stage seen by another': (sql, id) =>
    sql`update stages set observer_no = ${id} where stage_no = ${10 * id + 1}`,
  'stage added': (sql, id, text) => sql`
    insert into stages (stage_no, observation_no, rank, label, observer_no, seen_at)
    select 10 * ${id}::bigint + 5, 10 * ${id}::bigint, 5, ${text}, ${id}::bigint, now()
    on conflict do nothing`,
}

const id = fc.integer({ min: 1, max: 12 })
const change = fc.tuple(fc.constantFrom(...Object.keys(CHANGES)), id, fc.constantFrom('a', 'b', 'c'))
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ change }) },
  { weight: 4, arbitrary: fc.record({ commit: fc.nat() }) },
  { weight: 2, arbitrary: fc.constant('round' as const) },
)

/**
 * Runs the steps: each change runs in its own transaction, which stays open until a later step commits it.
 */
async function run(sql: Sql, steps: Step[]): Promise<void> {
  const open: { locks: string; session: ReservedSql }[] = []
  const commit = async (at: number) => {
    for (const { session } of open.splice(at, 1)) {
      await session`commit`
      session.release()
    }
  }
  for (const step of steps) {
    if (step === 'round') await round(fed.sql, platform.url, { overlapSeconds: OVERLAP })
    else if ('commit' in step) await commit(step.commit % Math.max(open.length, 1))
    else {
      const [what, id, text] = step.change
      const locks = `${what.split(' ')[0]} ${id % 5 === 0 || !what.startsWith('district') ? id : id % 5}`
      // This change would wait for a transaction that this test holds open.
      if (open.length === 4 || open.some(one => one.locks === locks)) continue
      const session = await sql.reserve()
      await session`begin`
      await CHANGES[what]?.(session, id, text)
      open.push({ locks, session })
    }
  }
  while (open.length > 0) await commit(0)
}

test('after any changes, committed in any order, the next round leaves the same rows as a full load', async () => {
  const sql = postgres(platform.url, { max: 5, onnotice: () => {} })
  let changed = 0
  await holds(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async steps => {
      await run(sql, steps)
      const last = await round(fed.sql, platform.url, { overlapSeconds: OVERLAP })
      changed += last.loaded ? (last.summary.assessments?.updated ?? 0) : 0
      await loaded.sql`truncate organizations, products, users, assessments, assessment_parts`
      await round(loaded.sql, platform.url, { isFull: true })
      expect(await exported(fed.sql)).toEqual(await exported(loaded.sql))
    }),
    { runs: 5, thorough: 10, shrink: false },
  )
  expect(changed).toBeGreaterThan(0)
  await sql.end({ timeout: 1 })
})
