import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import postgres from 'postgres'
import { startCluster } from '../support/cluster.ts'
import { cleanUp, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { FlakyProxy } from '../support/flaky-proxy.ts'
import { tryList } from '../support/http.ts'
import { fill } from '../support/outage.ts'
import { firstToken, serveWith } from '../support/served.ts'
import { until } from '../support/until.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)
afterAll(cleanUp)

test('while its database is read-only, the service records no use and no refusal, purges nothing and keeps its connections', async () => {
  const cluster = await startCluster()
  const credentials = await fill(cluster.url())
  const operator = postgres(cluster.url(), { max: 1, onnotice: () => {} })
  const writable = await serveWith([], { DATABASE_URL: cluster.url() })
  const tokens = [credentials.token, await firstToken(writable.url, credentials)]
  await writable.end()
  await operator.unsafe('alter database postgres set default_transaction_read_only = on')
  const proxy = await FlakyProxy.start(cluster.url())
  const running = await serveWith([], { DATABASE_URL: proxy.url, ADMIN_PORT: '0' })
  const list = async () => {
    for (const token of tokens) expect((await tryList(running.url, token)).status).toBe(200)
  }
  /** The number of writes that Postgres refused, from its log, and of connections that were opened. */
  const attempts = () => {
    const log = readFileSync(join(dirname(cluster.dataDir), 'log'), 'utf8')
    return { refused: log.split('in a read-only transaction').length - 1, opened: proxy.accepted }
  }

  await running.shows(/the database is read-only .*: no tokens can be issued/)
  const before = attempts()
  for (let time = 0; time < 10; time++) await list()
  expect((await tryList(running.url, tokens[0] ?? '', 'page=0')).status).toBe(400)
  expect(attempts()).toEqual(before)
  // A busy machine is slow.
  const isSlow = ({ msg, slow }: { msg: string; slow?: unknown }) => msg === 'slow statement' || slow
  expect(running.log().filter(line => Number(line.level) >= 40 && !isSlow(line))).toHaveLength(1)

  await operator.unsafe('alter database postgres reset default_transaction_read_only')
  proxy.cut()
  await until('it is ready', async () => (await fetch(`${running.admin}/ready`)).status === 200)
  await list()
  await until('the use is noted', async () => {
    const { count } = await operator`select from integration_secrets where last_used_at is not null`
    return count === 1
  })
  await running.end()
  await operator.end()
  await proxy.stop()
  await cluster.stop()
})
