import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { openDatabase } from '../../src/postgres/database.ts'
import type { ServerView } from '../../src/postgres/standby/standbys.ts'
import type { OwnCluster } from '../support/cluster.ts'
import { axport, cleanUp } from '../support/executable.ts'
import { assessment, ORGANIZATION, organization } from '../support/fixtures.ts'
import { get, LIST, list, newToken, postToken, tryList } from '../support/http.ts'
import { type Served, serveWith } from '../support/served.ts'
import { load } from '../support/service.ts'
import { signal, stopProcesses } from '../support/stop-processes.ts'
import { until } from '../support/until.ts'
import {
  COUNT,
  caughtUp,
  IDS,
  nameOf,
  on,
  type Replicated,
  startReplicated,
  tokenOf,
} from './support/replicated.ts'
import { Walkers } from './support/walkers.ts'

setDefaultTimeout(120_000)

let all: Replicated
let service: Served
/** A token whose preferred server is the first standby, and one whose preferred server is the second. */
let tokens: [string, string]
let walkers: Walkers

beforeAll(async () => {
  all = await startReplicated()
  service = await serveWith([], { ...all.env, ADMIN_PORT: '0', READ_LAG: '2' })
  const { first, second, credentials } = all
  await untilServing(first, second)
  tokens = [
    await tokenOf(service.url, credentials, first, all),
    await tokenOf(service.url, credentials, second, all),
  ]
})
afterAll(async () => {
  await walkers?.stop()
  await cleanUp()
  await all?.stop()
})

interface Ready {
  ready: boolean
  checks: { check: string; status: string; detail?: string }[]
  servers: ServerView[]
}

const ready = async () => (await (await fetch(`${service.admin}/ready`)).json()) as Ready

/** The reasons for which servers are not read from, by their names; undefined for servers that are read from. */
async function reasons(): Promise<Record<string, string | undefined>> {
  const { servers } = await ready()
  return Object.fromEntries(
    servers.map(({ server, serves, why }) => [server, serves ? undefined : (why ?? '')]),
  )
}

/** Waits until exactly these of the two standbys are read from. */
const untilServing = (...clusters: OwnCluster[]) =>
  until(`${clusters.length} standbys are read from`, async () => {
    const found = await reasons()
    return [all.first, all.second].every(
      cluster => (found[nameOf(cluster)] === undefined) === clusters.includes(cluster),
    )
  })

/** The value of a sample of /metrics, by its name and label. */
async function metricOf(sample: string): Promise<number> {
  const text = await (await fetch(`${service.admin}/metrics`)).text()
  return Number(new RegExp(`^axport_${RegExp.escape(sample)} (\\S+)$`, 'm').exec(text)?.[1])
}
const movedFor = (reason: string) => metricOf(`reads_moved_total{reason="${reason}"}`)
const readsOf = (server: string) => metricOf(`reads_total{server="${server}"}`)

const provisioning = (...args: string[]) =>
  axport(['integration', ...args], { env: { ...all.env, DATABASE_URL: all.primary.url() } })

const pause = (cluster: OwnCluster) => on(cluster, sql => sql`select pg_wal_replay_pause()`)
const resume = (cluster: OwnCluster) => on(cluster, sql => sql`select pg_wal_replay_resume()`)

test('each token has a standby that its pages are read from; tokens and last_used_at are written at the primary', async () => {
  const [first, second] = [nameOf(all.first), nameOf(all.second)]
  const before = {
    first: await readsOf(first),
    second: await readsOf(second),
    primary: await readsOf('primary'),
  }
  for (const token of [tokens[0], tokens[0], tokens[1]]) {
    await until('the standbys know the token', async () => (await tryList(service.url, token)).status === 200)
  }
  const moved = await movedFor('unknown_token')
  expect([
    (await readsOf(first)) - before.first + (await readsOf(second)) - before.second,
    (await readsOf('primary')) - before.primary,
  ]).toEqual([3 - moved, moved])
  for (let n = 0; n < 3; n++) await list(service.url, tokens[0])
  expect(await readsOf(first)).toBe(before.first + 5 - moved)
  const used = () =>
    on(all.primary, sql => sql`select from integration_secrets where last_used_at is not null`)
  await until('the primary has last_used_at', async () => (await used()).length === 1)
  // Each server that was read from has a page memory of its own.
  expect(await metricOf('page_memory_misses_total')).toBe(moved > 0 ? 3 : 2)
  expect(await readsOf(nameOf(all.impostor))).toBe(0)
  expect(await reasons()).toEqual({
    [first]: undefined,
    [second]: undefined,
    primary: '',
    [nameOf(all.impostor)]: 'it is of another cluster',
  })
})

test('a token that no standby has replayed yet is looked up at the primary; a token that no server has is a 401', async () => {
  await pause(all.first)
  await pause(all.second)
  const before = await readsOf('primary')
  const token = await newToken(service.url, all.credentials)
  expect((await list(service.url, token, 'page=1')).meta.count).toBe(COUNT)
  expect(await readsOf('primary')).toBe(before + 1)
  expect((await tryList(service.url, 'x'.repeat(43))).status).toBe(401)
})

test('a standby whose lag exceeds READ_LAG is not read from; without any standby, pages are read from the primary', async () => {
  walkers = new Walkers(service.url, [...tokens, ...tokens])
  await untilServing()
  const found = await reasons()
  expect(found).toMatchObject({
    [nameOf(all.first)]: expect.stringMatching(/^it is \d+ s behind$/),
    [nameOf(all.second)]: expect.stringMatching(/^it is \d+ s behind$/),
  })
  expect(found.primary).toBeUndefined()
  expect(await metricOf(`standby_lag_seconds{server="${nameOf(all.first)}"}`)).toBeGreaterThanOrEqual(2)
  expect(await metricOf('server_serves{server="primary"}')).toBe(1)
})

test('a change of access names the standbys that have not replayed it within --wait, and succeeds once all have', async () => {
  const { stdout } = await provisioning('create', 'Other', '--json')
  const { client_id: id } = JSON.parse(stdout) as { client_id: string }
  const short = await provisioning('disable', id, '--wait', '1s')
  expect(short).toMatchObject({ code: 75, stdout: `${id} is disabled now\n` })
  expect(short.stderr).toMatch(
    /^axport: the integration was disabled, and standbys have not replayed that yet: .* bytes behind\), .*\n$/,
  )
  for (const cluster of [all.first, all.second, all.impostor]) expect(short.stderr).toContain(nameOf(cluster))
  await resume(all.first)
  await resume(all.second)
  const two = all.env.DATABASE_READ_URL?.replace(`,${nameOf(all.impostor)}`, '') as string
  const env = { DATABASE_URL: all.primary.url(), DATABASE_READ_URL: two }
  expect(await axport(['integration', 'delete', id, '--yes'], { env })).toMatchObject({ code: 0, stderr: '' })
  const gone = await Promise.all(
    [all.first, all.second].map(cluster =>
      on(cluster, sql => sql`select from integrations where client_id = ${id}`),
    ),
  )
  expect(gone.map(rows => rows.length)).toEqual([0, 0])
  await untilServing(all.first, all.second)
})

test('with one standby killed and the other one suspended, the primary serves and no request fails', async () => {
  const frozen = await stopProcesses(all.second)
  await all.first.crash()
  await untilServing()
  const { walks } = walkers
  await until('walks continue at the primary', () => walkers.walks > walks + 4)
  for (const pid of frozen) signal(pid, 'SIGCONT')
  await all.first.restart()
  await untilServing(all.first, all.second)
  // Requests must leave the suspended standby before DATABASE_WAIT, after which each would give up anyway.
  expect([[...walkers.faults], walkers.slowest < 8000]).toEqual([[], true])
})

test('without the primary, tokens that standbys have replayed still work; new and unknown tokens are a 503', async () => {
  await all.primary.crash()
  const { walks } = walkers
  await until('walks continue', () => walkers.walks > walks + 4)
  expect((await postToken(service.url, all.credentials)).status).toBe(503)
  expect((await tryList(service.url, 'x'.repeat(43))).status).toBe(503)
  const { ready: isReady, checks } = await ready()
  expect([isReady, checks.find(({ check }) => check === 'database')]).toEqual([
    true,
    {
      check: 'database',
      status: 'warning',
      detail: expect.stringContaining('standbys answer the tokens that they know'),
    },
  ])
  await all.primary.restart()
  await until(
    'the service issues tokens again',
    async () => (await postToken(service.url, all.credentials)).status === 200,
  )
  await walkers.stop()
  expect([...walkers.faults]).toEqual([])
})

test('disclosures are recorded at the primary; while the primary is down, no record is shown', async () => {
  const two = all.env.DATABASE_READ_URL?.replace(`,${nameOf(all.impostor)}`, '') as string
  const env = { DATABASE_URL: all.primary.url(), DATABASE_READ_URL: two }
  const switched = (state: string) => axport(['migrate', '--disclosures', state], { env })
  expect(await switched('on')).toMatchObject({ code: 0, stderr: '' })
  await untilServing(all.first, all.second)
  const reads = await readsOf(nameOf(all.first))
  const page = await tryList(service.url, tokens[0], 'page=3')
  expect([page.status, await readsOf(nameOf(all.first))]).toEqual([200, reads + 1])
  const rows = await on(
    all.primary,
    sql =>
      sql`select request_id, assessment_ids::text as ids from disclosures where assessment_ids = '{9001,9002,9003}'`,
  )
  expect([...rows]).toEqual([{ request_id: page.headers.get('x-request-id'), ids: '{9001,9002,9003}' }])
  expect((await ready()).ready).toBe(true)
  await all.primary.crash()
  await until(
    'pages with records are a 503',
    async () => (await tryList(service.url, tokens[0])).status === 503,
  )
  expect((await tryList(service.url, tokens[0], 'offset=10000')).status).toBe(200)
  await until('the service is not ready', async () => !(await ready()).ready)
  await all.primary.restart()
  await until(
    'pages with records are a 200 again',
    async () => (await tryList(service.url, tokens[0])).status === 200,
  )
  expect(await switched('off')).toMatchObject({ code: 0, stderr: '' })
})

test('a statement that the replay of a standby cancels is repeated at another server', async () => {
  const [row] = await on(all.primary, sql => sql`select pg_get_viewdef('live_tokens') as text`)
  const original = String(row?.text).replace(/;$/, '')
  const become = (text: string) =>
    on(all.primary, sql =>
      sql.unsafe(`create or replace view live_tokens with (security_invoker = true) as ${text}`),
    )
  await become(`${original} and (not pg_is_in_recovery() or pg_sleep(1)::text is not null)`)
  await caughtUp(all)
  // A standby may have lagged for a while after the outage of its primary.
  await untilServing(all.first, all.second)
  const before = await movedFor('trouble')
  const answer = tryList(service.url, tokens[0])
  const isAsleep = () => on(all.first, sql => sql`select from pg_stat_activity where wait_event = 'PgSleep'`)
  await until('the first standby runs the statement', async () => (await isAsleep()).length === 1)
  await on(all.primary, sql =>
    sql.unsafe('begin; lock table export_records in access exclusive mode; commit'),
  )
  expect((await answer).status).toBe(200)
  expect(await movedFor('trouble')).toBeGreaterThan(before)
  await become(original)
  await caughtUp(all)
})

test('every page shows one snapshot while imports write', async () => {
  const VERSIONS = 8
  /** Writes versions, each in one transaction. Version n has n more records, and every record contains n. */
  const write = async () => {
    const { sql, close } = await openDatabase(all.primary.url(), 1)
    for (let n = 1; n <= VERSIONS; n++)
      await load(sql, [organization(ORGANIZATION, `version ${n}`), assessment(20_000 + n)])
    await close()
  }
  const faults = new Set<string>()
  const versions = new Set<number>()
  let isOver = false
  const read = async (token: string) => {
    for (let offset = 0; !isOver; offset = (offset + 150) % COUNT) {
      const { data, meta } = await list(service.url, token, `page=100&offset=${offset}`)
      const version = meta.count - COUNT
      versions.add(version)
      const ids = [...IDS, ...Array.from({ length: version }, (_, at) => 20_001 + at)].slice(
        offset,
        offset + 100,
      )
      const names = new Set(data.map(record => record.organization_name))
      if (version > 0 && [...names].join() !== `version ${version}`)
        faults.add(`${[...names]} with ${version} more`)
      if (data.map(({ id }) => id).join() !== ids.join())
        faults.add(`wrong records of version ${version} at ${offset}`)
      await Bun.sleep(10)
    }
  }
  const reading = Promise.all([...tokens, ...tokens].map(read))
  await write().finally(() => {
    isOver = true
  })
  await reading
  expect([...faults]).toEqual([])
  expect(versions.size).toBeGreaterThan(3)
})

// This test must be the last one, because afterwards there are two primaries.
test('a promoted standby is not read from any more, so that no page shows data written there', async () => {
  await all.first.promote()
  await untilServing(all.second)
  expect((await reasons())[nameOf(all.first)]).toBe('it is no standby')
  await on(all.first, sql => sql`update organizations set name = 'written elsewhere'`)
  for (const token of tokens)
    expect((await get(service.url, token, LIST)).text).not.toContain('written elsewhere')
  const { stdout } = await axport(['doctor'], { env: all.env })
  expect(stdout).toMatch(/^reads +ok +standbys serve/m)
  for (const [cluster, detail] of [
    [all.first, 'passed over: it is no standby'],
    [all.second, 'serves, at most'],
    [all.impostor, 'passed over: it is of another cluster'],
  ] as const)
    expect(stdout).toMatch(new RegExp(`^standby ${nameOf(cluster)} .*${detail}`, 'm'))
  await service.end()
})
