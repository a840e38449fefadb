import { afterAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cleanUp } from '../support/executable.ts'
import { watchPlans } from '../support/plans.ts'
import { EXAMPLE, round, usePlatform } from '../support/platform-example.ts'
import { queriesWith, usersQuery } from '../support/platform-queries.ts'
import { migratedDatabase } from '../support/service.ts'

afterAll(cleanUp)

const OBSERVATIONS = 3000

/** As in expect-plans.ts: a statement touches a row a few times for each index and trigger. */
const MOST_TOUCHES = 40

/** A person with the given name "none" has no name, so the person's row is left out, and so are the assessments. */
const QUERIES = queriesWith({
  'users.sql': usersQuery("where changed_at >= current_setting('axport.since')::timestamptz", {
    name: "nullif(given, 'none')",
  }),
})

const platform = usePlatform(true)

test('a round that leaves out thousands of rows and loads as many reads no table once for each row', async () => {
  await platform.sql.begin(async sql => {
    await sql`select set_config('example.observations', ${String(OBSERVATIONS)}, true)`
    await sql.unsafe(readFileSync(join(EXAMPLE, 'data.sql'), 'utf8'))
  })
  await platform.sql`update people set given = 'none' where person_no % 2 = 0 and person_no < 590`
  const { url, drop } = await migratedDatabase()
  const { sql, takePlans, close } = await watchPlans(url)
  const feed = () =>
    round(
      sql,
      platform.url,
      { queries: QUERIES, overlapSeconds: 0 },
      { onReject: () => {}, maxRejected: { percent: 100 } },
    )
  try {
    const first = await feed()
    expect(first.loaded && first.rejected).toBeGreaterThan(OBSERVATIONS)
    await platform.sql`update observations set removed_at = null`
    takePlans()
    const second = await feed()
    expect(second.loaded && second.lines).toBeGreaterThan(OBSERVATIONS)
    const all = OBSERVATIONS * 6
    expect(takePlans().filter(({ rows }) => rows > MOST_TOUCHES * all)).toEqual([])
  } finally {
    await close()
    await drop()
  }
})
