import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { type OwnCluster, startCluster } from '../support/cluster.ts'
import { cleanUp, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { succeed } from '../support/operator.ts'
import { serveWith } from '../support/served.ts'
import { until } from '../support/until.ts'
import { withConnection } from '../support/with-connection.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

let cluster: OwnCluster
beforeAll(async () => {
  cluster = await startCluster({ settings: { max_prepared_transactions: '5' } })
  await succeed(cluster.url(), 'migrate', '--time-zone', 'UTC')
})
afterAll(async () => {
  await cleanUp()
  await cluster?.stop()
})

/** Leaves a transaction behind that no session has any more, as a transaction manager does that has failed. */
const prepare = (gid: string, statement: string) =>
  withConnection(cluster.url(), async sql => {
    await sql.unsafe(`begin; ${statement}; prepare transaction '${gid.replaceAll("'", "''")}'`).simple()
  })

async function readyDetail(admin: string): Promise<string | undefined> {
  const answer = await fetch(`${admin}/ready`)
  expect(answer.status).toBe(200)
  const { checks } = (await answer.json()) as { checks: { check: string; detail?: string }[] }
  return checks.find(({ check }) => check === 'locks')?.detail
}

test('/ready warns of a prepared transaction that locks a table of pages, also after a restart of Postgres', async () => {
  await prepare("tm's 1", 'lock table export_records in access exclusive mode')
  await cluster.restart()
  const running = await serveWith([], { DATABASE_URL: cluster.url(), ADMIN_PORT: '0' })
  const warning = 'a prepared transaction of Postgres locks export_records, or waits to; pages wait for it'
  await until('/ready warns', async () => (await readyDetail(running.admin)) === warning)
  await withConnection(cluster.url(), sql => sql.unsafe(`rollback prepared 'tm''s 1'`))
  await until('the warning ends', async () => (await readyDetail(running.admin)) === undefined)
  await running.end()
})
