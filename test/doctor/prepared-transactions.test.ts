import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import postgres from 'postgres'
import { type OwnCluster, startCluster } from '../support/cluster.ts'
import { badFindings, diagnose } from '../support/doctor.ts'
import { cleanUp, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { succeed } from '../support/operator.ts'
import { serveWith } from '../support/served.ts'
import { until } from '../support/until.ts'
import { withConnection } from '../support/with-connection.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

let cluster: OwnCluster
beforeAll(async () => {
  cluster = await startCluster({ settings: { max_prepared_transactions: '5' } })
  await succeed(cluster.url(), 'migrate')
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

const lockFinding = async () =>
  (await diagnose({ DATABASE_URL: cluster.url() })).findings.find(({ check }) => check === 'locks')

async function readyDetail(admin: string): Promise<string | undefined> {
  const answer = await fetch(`${admin}/ready`)
  expect(answer.status).toBe(200)
  const { checks } = (await answer.json()) as { checks: { check: string; detail?: string }[] }
  return checks.find(({ check }) => check === 'locks')?.detail
}

test('a prepared transaction that locks a table of pages is named by doctor and /ready, also after a restart', async () => {
  await prepare("tm's 1", 'lock table export_records in access exclusive mode')
  const detail =
    "pages wait for the prepared transaction 'tm''s 1' of role postgres, which locks export_records: " +
    "commit it, or, as that role or a superuser, rollback prepared 'tm''s 1'"
  expect(await lockFinding()).toEqual({ check: 'locks', status: 'wrong', detail })
  await cluster.restart()
  expect(await lockFinding()).toEqual({ check: 'locks', status: 'wrong', detail })
  const running = await serveWith([], { DATABASE_URL: cluster.url(), ADMIN_PORT: '0' })
  const warning =
    'a prepared transaction or a session behind it locks export_records, or waits to; pages wait for it: see axport doctor'
  await until('/ready warns', async () => (await readyDetail(running.admin)) === warning)
  await withConnection(cluster.url(), sql => sql.unsafe(/superuser, (.*)$/.exec(detail)?.[1] ?? 'no advice'))
  await until('the warning ends', async () => (await readyDetail(running.admin)) === undefined)
  expect((await badFindings(cluster.url())).filter(finding => finding.startsWith('locks'))).toEqual([])
  await running.end()
})

test('a prepared transaction for which a session waits that is to lock a table of pages is named with that session', async () => {
  await prepare('writer', 'delete from export_records')
  const migration = postgres(cluster.url(), { max: 1, onnotice: () => {} })
  const [{ pid } = { pid: 0 }] = await migration<{ pid: number }[]>`select pg_backend_pid() as pid`
  const locked = migration.begin(sql => sql`lock table export_records in access exclusive mode`)
  const detail =
    `pages wait for process ${pid} of role postgres, which is to lock export_records: end what it waits for, ` +
    "the prepared transaction 'writer', or rollback prepared 'writer'"
  await until('doctor names both', async () => (await lockFinding())?.detail === detail)
  await withConnection(cluster.url(), sql => sql.unsafe(`rollback prepared 'writer'`))
  await locked
  await migration.end()
  expect((await lockFinding())?.status).toBe('ok')
})

test('a prepared transaction that only reads is not named beside the one for which a session waits', async () => {
  await prepare('writer', 'delete from access_tokens')
  await prepare('reader', 'select count(*) from access_tokens')
  const indexing = postgres(cluster.url(), { max: 1, onnotice: () => {} })
  const indexed = indexing.begin(sql => sql`lock table access_tokens in share mode`)
  await until('doctor names the writer', async () => (await lockFinding())?.detail?.includes(`'writer'`))
  expect((await lockFinding())?.detail).not.toContain('reader')
  for (const gid of ['writer', 'reader'])
    await withConnection(cluster.url(), sql => sql.unsafe(`rollback prepared '${gid}'`))
  await indexed
  await indexing.end()
})
