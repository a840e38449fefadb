import { expect, test } from 'bun:test'
import postgres from 'postgres'
import { emptyDatabase } from '../support/cluster.ts'
import { record } from '../support/disclosures.ts'
import { fill, startOutageService } from '../support/outage.ts'
import { until } from '../support/until.ts'

/** In milliseconds: waitMs, statementMs and a second, and the delay of a busy machine. */
const LATEST_MS = 2500 + 1000

test('a request gets 503 before its deadline if its disclosure cannot be recorded, also behind other recordings', async () => {
  const database = await emptyDatabase()
  const credentials = await fill(database.url)
  const sql = postgres(database.url, { max: 1, fetch_types: false, onnotice: () => {} })
  await record(sql)
  const service = await startOutageService(database.url, credentials, { waitMs: 500, statementMs: 1000 })
  await sql`begin`
  await sql`lock table disclosures in access exclusive mode`
  const ask = async () => {
    const startedAt = performance.now()
    const { status } = await service.list()
    return { status, ms: performance.now() - startedAt }
  }
  const first = ask()
  await until(
    'its recording waits',
    async () => (await sql`select from pg_locks where not granted`).count > 0,
  )
  // Their recordings wait for the same lock.
  const later = [ask(), ask()]
  for (const { status, ms } of await Promise.all([first, ...later])) {
    expect(status).toBe(503)
    expect(ms).toBeLessThan(LATEST_MS)
  }
  await sql`rollback`
  expect((await service.list()).status).toBe(200)
  await service.stop()
  await sql.end()
  await database.drop()
})
