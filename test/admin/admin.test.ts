import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { startCluster } from '../support/cluster.ts'
import { axport, errorLine, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { assessment } from '../support/fixtures.ts'
import { bearer, LIST, postToken, send, TOKEN } from '../support/http.ts'
import { type Served, useServedWorld, whileBlocked } from '../support/served.ts'
import { load } from '../support/service.ts'
import { until } from '../support/until.ts'
import { dataMetrics, metrics } from './samples.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const world = useServedWorld({ DATABASE_POOL_SIZE: '2', ADMIN_PORT: '0' })

async function ready({ admin }: Served) {
  const answer = await fetch(`${admin}/ready`)
  const { ready, checks } = (await answer.json()) as {
    ready: boolean
    checks: { check: string; status: string; detail?: string }[]
  }
  const wrong = checks.filter(({ status }) => status === 'wrong')
  return { status: answer.status, ready, wrong, names: checks.map(({ check }) => check) }
}

async function list({ url }: Served, query = '', token = world.token): Promise<number> {
  return (await send(url, LIST + query, { headers: bearer(token) })).status
}

/** The number of logged requests. The metrics of a request are updated before its line is logged. */
async function logged(running: Served, count: number): Promise<void> {
  const lines = () => running.stdout().split('"msg":"request"').length - 1
  await until(`the log has ${count} requests`, () => lines() >= count)
}

describe('the admin port', () => {
  test('exists only if ADMIN_PORT is set, and its paths are never on the public port', async () => {
    const [plain, watched] = [await world.serve([], { ADMIN_PORT: '' }), await world.serve()]
    expect(plain.admin).toBe('')
    for (const { url } of [plain, watched]) {
      for (const path of ['/live', '/ready', '/metrics']) expect((await send(url, path)).status).toBe(404)
    }
    await plain.end()
    await watched.end()
  })

  test('answers GET and HEAD of /live, /ready and /metrics, and nothing else', async () => {
    const running = await world.serve()
    for (const [path, type] of [
      ['/live', /^application\/json/],
      ['/ready', /^application\/json/],
      ['/metrics', /^text\/plain; version=0\.0\.4/],
    ] as const) {
      for (const method of ['GET', 'HEAD']) {
        const answer = await fetch(`${running.admin}${path}`, { method })
        expect([path, method, answer.status]).toEqual([path, method, 200])
        expect(answer.headers.get('content-type')).toMatch(type)
      }
      expect((await fetch(`${running.admin}${path}`, { method: 'POST' })).status).toBe(405)
    }
    for (const path of ['/', '/live/', LIST, TOKEN])
      expect((await fetch(`${running.admin}${path}`)).status).toBe(404)
    expect(await ready(running)).toEqual({
      status: 200,
      ready: true,
      wrong: [],
      names: ['service', 'database', 'schema', 'writable', 'locks'],
    })
    await running.end()
  })

  test('ends serve with one line if it cannot be opened', async () => {
    const running = await world.serve()
    for (const { port } of [new URL(running.admin), new URL(running.url)]) {
      const run = await axport(['serve'], { env: { ...world.env, PORT: '0', ADMIN_PORT: port } })
      expect(errorLine(run, 1)).toBe(
        `port ${port} on 127.0.0.1 is in use: stop its listener, or set another ADMIN_PORT`,
      )
    }
    const nowhere = { ...world.env, PORT: '0', ADMIN_HOST: '192.0.2.1' }
    const elsewhere = await axport(['serve'], { env: nowhere })
    expect(errorLine(elsewhere, 1)).toContain('set ADMIN_HOST to one, or to 0.0.0.0')
    await running.end()
  })
})

describe('/ready', () => {
  test('reports a schema that is behind, and accepts one that is ahead and compatible', async () => {
    const running = await world.serve()
    const { sql } = world
    const [last] =
      await sql`delete from schema_migrations where name = (select max(name) from schema_migrations) returning *`
    const behind = await ready(running)
    await sql`insert into schema_migrations ${sql(last as Record<string, unknown>)}`
    const detail = `behind by 1 (${last?.name}): run axport migrate`
    expect(behind).toMatchObject({ status: 503, ready: false, wrong: [{ check: 'schema', detail }] })
    await sql`insert into schema_migrations (name, sha256) values ('9999_future', 'x')`
    const ahead = await ready(running)
    await sql`delete from schema_migrations where name = '9999_future'`
    expect(ahead).toMatchObject({ status: 200, ready: true })
    await running.end()
  })

  test('stays 200 while all connections are in use, which /metrics shows', async () => {
    const running = await world.serve([], { DATABASE_POOL_SIZE: '1' })
    const requests: Promise<number>[] = []
    await whileBlocked(world.sql, async waiting => {
      requests.push(list(running))
      await waiting(1)
      // Other lists: a page of the same one would wait for its count, and for no connection.
      for (const id of [1, 2]) requests.push(list(running, `?filter[user_ids][]=${id}`))
      const wanted = {
        axport_requests_in_flight: 3,
        axport_database_connections_in_use: 1,
        axport_database_connections_idle: 0,
        axport_database_waiting: 2,
      }
      const shown = async () => {
        const measured = await metrics(running)
        return Object.fromEntries(Object.keys(wanted).map(name => [name, measured.get(name)]))
      }
      await until('the metrics show all of it', async () => Bun.deepEquals(await shown(), wanted))
      expect(await ready(running)).toMatchObject({ status: 200, ready: true })
    })
    expect(await Promise.all(requests)).toEqual([200, 200, 200])
    await running.end()
  })

  test('reports the database while it is down, without any secret, and /live and /metrics still answer', async () => {
    const cluster = await startCluster()
    const url = cluster.url()
    expect((await axport(['migrate', '--time-zone', 'UTC'], { env: { DATABASE_URL: url } })).code).toBe(0)
    const running = await world.serve([], { DATABASE_URL: url })
    expect(await ready(running)).toMatchObject({ status: 200 })
    await cluster.crash()
    await until('the service is not ready', async () => !(await ready(running)).ready)
    const away = await ready(running)
    expect(away.status).toBe(503)
    expect(away.wrong).toEqual([{ check: 'database', status: 'wrong', detail: expect.any(String) }])
    const text = await (await fetch(`${running.admin}/ready`)).text()
    for (const secret of [new URL(url).password, new URL(url).port]) expect(text).not.toContain(secret)
    expect((await fetch(`${running.admin}/live`)).status).toBe(200)
    const measured = await metrics(running)
    expect(measured.has('axport_export_version_timestamp_seconds')).toBe(false)
    expect(measured.get('axport_requests_in_flight')).toBe(0)
    await cluster.restart()
    await until('the service is ready', async () => (await ready(running)).ready)
    await until('the metrics have the data', async () =>
      (await metrics(running)).has('axport_export_version_timestamp_seconds'),
    )
    // The service shuts down normally without its database.
    await cluster.crash()
    await running.end()
    await cluster.stop()
  })
})

describe('/metrics', () => {
  test('counts requests by route and status, their time, records and bytes, and issued tokens', async () => {
    const running = await world.serve()
    expect(await list(running)).toBe(200)
    expect(await list(running, '/9001')).toBe(200)
    expect(await list(running, '?page=x')).toBe(400)
    expect(await list(running, '', 'x')).toBe(401)
    expect(await list(running, '/Searchedtext')).toBe(404)
    expect((await fetch(`${running.url}/Searchedtext`)).status).toBe(404)
    expect((await postToken(running.url, world.credentials)).status).toBe(200)
    expect((await postToken(running.url, { ...world.credentials, clientSecret: 'x' })).status).toBe(401)
    await logged(running, 8)
    const measured = await metrics(running)
    const requests = [...measured].filter(([name]) => name.startsWith('axport_requests_total'))
    expect(Object.fromEntries(requests)).toEqual({
      [`axport_requests_total{route="${LIST}",status="200"}`]: 1,
      [`axport_requests_total{route="${LIST}",status="400"}`]: 1,
      [`axport_requests_total{route="${LIST}",status="401"}`]: 1,
      [`axport_requests_total{route="${LIST}/:id",status="200"}`]: 1,
      [`axport_requests_total{route="${LIST}/:id",status="404"}`]: 1,
      'axport_requests_total{route="other",status="404"}': 1,
      [`axport_requests_total{route="${TOKEN}",status="200"}`]: 1,
      [`axport_requests_total{route="${TOKEN}",status="401"}`]: 1,
    })
    expect(measured.get('axport_tokens_total{outcome="issued"}')).toBe(1)
    expect(measured.get('axport_tokens_total{outcome="refused"}')).toBe(1)
    expect(measured.get('axport_records_sent_total')).toBe(3)
    expect(measured.get(`axport_request_seconds_count{route="${LIST}"}`)).toBe(3)
    expect(measured.get(`axport_request_seconds_sum{route="${LIST}"}`)).toBeGreaterThan(0)
    const sent = [...running.stdout().matchAll(/"bytes":(\d+)/g)].map(([, bytes]) => Number(bytes))
    expect(measured.get('axport_bytes_sent_total')).toBe(sent.reduce((sum, bytes) => sum + bytes, 0))
    expect([...measured.keys()].filter(name => name.startsWith('axport_build_info'))).toEqual([
      expect.stringMatching(/version="\d+\.\d+\.\d+",commit="[0-9a-f]*",bun="1\./),
    ])
    for (const name of ['axport_event_loop_lag_seconds{percentile="99"}', 'process_resident_memory_bytes'])
      expect(measured.get(name)).toBeGreaterThan(0)
    const text = await (await fetch(`${running.admin}/metrics`)).text()
    const [integration] = await world.sql<{ name: string }[]>`select name from integrations`
    for (const secret of ['Searchedtext', integration?.name, world.credentials.clientSecret, world.token])
      expect(text).not.toContain(secret)
    await running.end()
  })

  test('counts errors of the database, and has the time when a list last changed', async () => {
    const running = await world.serve()
    const before = (await dataMetrics(running)).get('axport_export_version_timestamp_seconds') as number
    await load(world.sql, [assessment(9004)])
    const after = await dataMetrics(running)
    expect(after.get('axport_export_version_timestamp_seconds')).toBeGreaterThan(before)
    const lastImport = after.get('axport_last_import_timestamp_seconds') ?? 0
    expect(Math.abs(lastImport - Date.now() / 1000)).toBeLessThan(60)
    await world.sql`alter table export_records rename to away`
    try {
      expect(await list(running)).toBe(500)
    } finally {
      await world.sql`alter table away rename to export_records`
    }
    expect((await metrics(running)).get('axport_database_errors_total')).toBe(1)
    await running.end()
  })
})
