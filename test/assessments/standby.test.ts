// A real standby whose replay is paused. test/system/standbys.alone.long.test.ts also delays, freezes and promotes it.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { axport, cleanUp, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { ORGANIZATION, PRODUCT } from '../support/fixtures.ts'
import { bearer, newToken } from '../support/http.ts'
import { getList } from '../support/operator.ts'
import { firstToken, type Served, serveWith } from '../support/served.ts'
import { until } from '../support/until.ts'
import { on, type Replicated, startReplicated } from '../system/support/replicated.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

let all: Replicated
let service: Served
let token: string

beforeAll(async () => {
  all = await startReplicated()
  service = await serveWith([], { ...all.env, ADMIN_PORT: '0' })
  token = await firstToken(service.url, all.credentials)
  await untilUsed()
})
afterAll(async () => {
  await cleanUp()
  await all?.stop()
})

async function isUsed({ admin }: Served): Promise<boolean> {
  return /^axport_standby_used 1$/m.test(await (await fetch(`${admin}/metrics`)).text())
}
const untilUsed = () =>
  until(
    'a page is read from the standby',
    async () => (await getList(service.url, token)).status === 200 && (await isUsed(service)),
    30_000,
  )

/** Waits until the standby has replayed all that the primary has written. */
async function untilSame(): Promise<void> {
  const [row] = await on(all.primary, sql => sql<{ lsn: string }[]>`select pg_current_wal_lsn()::text as lsn`)
  await until('the standby has replayed all', () =>
    on(all.standby, async sql => {
      const [{ done } = { done: false }] =
        await sql`select pg_last_wal_replay_lsn() >= ${row?.lsn ?? ''}::pg_lsn as done`
      return done === true
    }),
  )
}

/** The name of the only product, as a page has it. */
async function nameIn({ url }: Served): Promise<unknown> {
  const { status, body } = await getList(url, token)
  return status === 200 ? (body as { data: { assessment_name: string }[] }).data[0]?.assessment_name : status
}

const rename = (name: string) =>
  on(all.primary, sql => sql`update products set name = ${name} where id = ${PRODUCT}`)

/** Runs `work` while the standby replays nothing. */
async function whilePaused(work: () => Promise<void>): Promise<void> {
  await on(all.standby, sql => sql`select pg_wal_replay_pause()`)
  await until('the replay is paused', () =>
    on(all.standby, async sql => {
      const [row] = await sql`select pg_get_wal_replay_pause_state() as state`
      return row?.state === 'paused'
    }),
  )
  await work().finally(() => on(all.standby, sql => sql`select pg_wal_replay_resume()`))
}

/** The statements that the service has sent last on each of its connections to the standby. */
const statementsAtStandby = () =>
  on(all.standby, async sql => {
    const rows = await sql<{ query: string }[]>`
      select query from pg_stat_activity where application_name = 'axport'`
    return rows.map(({ query }) => query).join('\n')
  })

test('pages are read from the standby, and tokens are not looked up there', async () => {
  await until('the standby reads a page', async () => {
    await nameIn(service)
    return (await statementsAtStandby()).includes('documents')
  })
  expect(await statementsAtStandby()).not.toContain('live_tokens')
})

test('a filter that leaves nothing of the scope is answered by the standby, too, and leaves it in use', async () => {
  for (let page = 0; page < 3; page++) {
    const nothing = await fetch(`${service.url}/api/v1/ax/assessments?filter[organization_ids][]=99999`, {
      headers: bearer(token),
    })
    expect(await nothing.json()).toMatchObject({ data: [], meta: { count: 0 } })
    expect(await isUsed(service)).toBe(true)
  }
})

test('a page of a version that the process has not seen at the primary is not sent', async () => {
  await rename('Before')
  await until('the standby has the change', async () => (await nameIn(service)) === 'Before', 30_000)
  await whilePaused(async () => {
    await rename('After')
    // It has not seen at the primary what the standby still has.
    const other = await serveWith([], { ...all.env, ADMIN_PORT: '0' })
    await firstToken(other.url, all.credentials)
    for (let page = 0; page < 5; page++) expect(await nameIn(other)).toBe('After')
    await until('the standby is passed over', async () => !(await isUsed(other)))
    expect(await nameIn(other)).toBe('After')
    await other.end()
  })
  // This one has seen the version of before at the primary, so it may send it for ten seconds.
  await until('the standby has caught up', async () => (await nameIn(service)) === 'After', 30_000)
  await untilUsed()
})

test('a proctor of a later part who was erased at the primary is not shown, though the standby has not replayed it', async () => {
  const erase = async (...options: string[]) => {
    const { code } = await axport(['erase', '78', ...options], { env: { DATABASE_URL: all.primary.url() } })
    expect(code).toBe(0)
  }
  /** Who proctored the second part, by a process that has seen at the primary nothing from before. */
  const proctorIn = async () => {
    const other = await serveWith([], { ...all.env, ADMIN_PORT: '0' })
    await firstToken(other.url, all.credentials)
    const { body } = await getList(other.url, token)
    await other.end()
    const { data } = body as { data: { results: { proctor_name: string }[] }[] }
    return data.flatMap(({ results }) => results[1]?.proctor_name ?? [])
  }
  await on(all.primary, sql =>
    sql.unsafe(`
      insert into users (id, name) values (78, 'Petra Later');
      insert into assessment_parts select -1, min(id), 2, 'Second', '2025-01-01', 78 from assessments`),
  )
  await untilSame()
  await whilePaused(async () => {
    await erase('--yes')
    expect(await proctorIn()).toEqual(['Erased person'])
  })
  // SQL has brought the name back, which is shown when the tombstone is removed.
  await on(all.primary, sql => sql`update users set name = 'Petra Later' where id = 78`)
  await untilSame()
  await whilePaused(async () => {
    await erase('--remove-tombstone')
    expect(await proctorIn()).toEqual(['Petra Later'])
  })
  await untilUsed()
})

test('a token, a scope and their end count at once, though the standby has not replayed them', async () => {
  const integration = async (...args: string[]) => {
    const { code, stdout } = await axport(['integration', ...args], {
      env: { DATABASE_URL: all.primary.url() },
    })
    expect(code).toBe(0)
    return stdout
  }
  await whilePaused(async () => {
    const scope = ['--organizations', String(ORGANIZATION), '--products', String(PRODUCT)]
    const { client_id, client_secret } = JSON.parse(await integration('create', 'New', ...scope, '--json'))
    const newest = await newToken(service.url, { clientId: client_id, clientSecret: client_secret })
    const status = async () => (await getList(service.url, newest)).status
    expect(await status()).toBe(200)
    await integration('scope', client_id, '--remove-organizations', String(ORGANIZATION))
    expect(await status()).toBe(400)
    await integration('disable', client_id)
    expect(await status()).toBe(401)
  })
})

test('without the standby the primary answers', async () => {
  await all.standby.crash()
  for (let page = 0; page < 3; page++) expect((await getList(service.url, token)).status).toBe(200)
  await until('the standby is passed over', async () => !(await isUsed(service)))
})
