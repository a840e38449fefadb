import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  setDefaultTimeout,
  test,
} from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres, { type Sql } from 'postgres'
import { startSilenceCheck } from '../../src/import/platform/silence-check.ts'
import { isVacuumed } from '../../src/import/vacuumed.ts'
import { openFirst } from '../../src/postgres/connection/opening.ts'
import { readPostgresUrl } from '../../src/postgres/connection/url.ts'
import { axport, cleanUp, emptyFolder, type Running, start } from '../support/executable.ts'
import { FlakyProxy } from '../support/flaky-proxy.ts'
import { freePort } from '../support/free-port.ts'
import { useDatabase } from '../support/import.ts'
import { type OwnCluster, startCluster } from '../support/own-cluster.ts'
import { EXAMPLE, exported, QUERIES, round } from '../support/platform-example.ts'
import { usersQuery } from '../support/platform-queries.ts'
import { until } from '../support/until.ts'
import { folderOf } from './csv-files.ts'

setDefaultTimeout(120_000)

/** A query that waits while a session holds the advisory lock 42 of the platform. */
const HELD = usersQuery('where pg_advisory_xact_lock_shared(42) is not null')

describe('axport import --every', () => {
  const database = useDatabase()
  const all = (name: string) => readFileSync(join(QUERIES, name), 'utf8')
  const queries = folderOf({
    ...Object.fromEntries(
      ['organizations', 'products', 'assessments', 'assessment_parts'].map(name => [
        `${name}.sql`,
        all(`${name}.sql`),
      ]),
    ),
    'users.sql': HELD,
  })
  let cluster: OwnCluster
  let sql: Sql
  const running: Running[] = []
  const connect = () => postgres(cluster.url(), { max: 3, onnotice: () => {} })
  beforeAll(async () => {
    cluster = await startCluster()
    sql = connect()
    for (const file of ['schema.sql', 'data.sql']) await sql.unsafe(readFileSync(join(EXAMPLE, file), 'utf8'))
  })
  beforeEach(async () => {
    await database.sql`delete from feeds`
  })
  afterEach(async () => {
    for (const one of running.splice(0)) {
      one.signal('SIGKILL')
      await one.finished
    }
  })
  afterAll(async () => {
    await sql.end({ timeout: 1 })
    await cleanUp()
    await cluster.stop()
  })

  const args = (...more: string[]) => ['import', '--queries', queries, ...more]
  async function feed(env: Record<string, string> = {}, ...more: string[]): Promise<Running> {
    const started = await start(args('--every', '1s', ...more), {
      env: { DATABASE_URL: database.url, PLATFORM_URL: cluster.url(), ...env },
    })
    running.push(started)
    return started
  }
  const isSame = async () => {
    const now = await exported(database.sql)
    await database.sql`truncate organizations, products, users, assessments, assessment_parts`
    await round(database.sql, cluster.url(), { isFull: true, queries, feed: 'other' })
    expect(now).toEqual(await exported(database.sql))
    expect(now.length).toBeGreaterThan(100)
  }

  async function askAdmin(port: number, path: string) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`)
    return { status: answer.status, text: await answer.text() }
  }

  /** Blocks every round in the middle of its reading until the returned function is called. */
  async function hold(): Promise<() => Promise<void>> {
    const session = await sql.reserve()
    await session`select pg_advisory_lock(42)`
    return async () => {
      await session`select pg_advisory_unlock(42)`
      session.release()
    }
  }
  const isHeld = () =>
    until(
      'a round is held',
      async () => {
        const { count } = await sql`select from pg_locks where locktype = 'advisory' and not granted`
        return count > 0
      },
      60_000,
    )

  test('loads changes, resumes after an outage of the platform, and reports both to operators', async () => {
    const port = await freePort()
    const fed = await feed({ ADMIN_PORT: String(port) })
    await fed.shows(/^\S+Z loaded \d+ rows in [\d.]+ s: \d+ inserted, 0 updated/)
    const ask = (path: string) => askAdmin(port, path)
    expect((await ask('/live')).status).toBe(200)
    expect(await ask('/ready')).toMatchObject({ status: 200 })
    await sql`update people set given = 'Anna' where person_no = 5`
    await fed.shows(/: 0 inserted, 1 updated, \d+ unchanged, 0 deleted\n/)

    await cluster.crash()
    await fed.shows(/failed: cannot reach the platform: .*; the next attempt is in 1 s\n/)
    await fed.shows(/failed: cannot reach the platform: .*; the next attempt is in 2 s\n/)
    expect((await ask('/metrics')).text).toMatch(/^axport_feed_failed_rounds\{feed="platform"\} [2-9]/m)
    const { status, text } = await ask('/ready')
    expect([status, text]).toEqual([
      503,
      expect.stringMatching(/the last \d rounds failed; the log says why/),
    ])
    await sql.end({ timeout: 1 })
    await cluster.restart()
    sql = connect()
    await sql`update people set given = 'Berta' where person_no = 5`
    await fed.shows(/failed.*\n(.*\n)*.*loaded.*: 0 inserted, 1 updated/)
    expect((await ask('/ready')).status).toBe(200)
    const metrics = (await ask('/metrics')).text
    expect(metrics).toContain('axport_feed_failed_rounds{feed="platform"} 0\n')
    const [, at] =
      /^axport_feed_last_success_timestamp_seconds\{feed="platform"\} (\S+)$/m.exec(metrics) ?? []
    expect(Math.abs(Number(at) - Date.now() / 1000)).toBeLessThan(10)
    expect(metrics).toMatch(/^axport_feed_rounds_total\{feed="platform",outcome="failed"\} [2-9]/m)
    expect(metrics).toContain('axport_build_info{')
    fed.signal('SIGTERM')
    expect(await fed.finished).toMatchObject({ code: 0, stderr: '' })
    expect(fed.stdout()).not.toContain(new URL(cluster.url()).password)
    await isSame()
  })

  test('is ready with a warning while rows wait, and not ready after a refused round until a command loads it', async () => {
    const port = await freePort()
    const leaveOut = ['--rejects', join(emptyFolder(), 'rejects')]
    const fed = await feed({ ADMIN_PORT: String(port) }, ...leaveOut)
    const ready = async () => {
      const { status, text } = await askAdmin(port, '/ready')
      return { status, checks: JSON.parse(text).checks.slice(1) }
    }
    const gauges = async () => {
      const { text } = await askAdmin(port, '/metrics')
      return [
        ...text.matchAll(/^axport_feed_(removals\S+|rejected\S+|position\S+)\{feed="platform"\} (\d)$/gm),
      ].map(([, name, value]) => `${name} ${value}`)
    }
    const isWell = { check: 'feed', status: 'ok' }
    const warns = {
      check: 'rejects',
      status: 'warning',
      detail: '1 rejected row waits; the other rows are loaded',
    }
    await fed.shows(/loaded \d+ rows/)
    expect(await ready()).toEqual({ status: 200, checks: [isWell, { check: 'rejects', status: 'ok' }] })

    await sql`update people set given = '' where person_no = 5`
    await fed.shows(/ 1 rejected \(written to .*\): .*; note: rejected: 1 × name is missing\n/)
    expect(await ready()).toEqual({ status: 200, checks: [isWell, warns] })
    expect(await gauges()).toEqual(['removals_refused 0', 'rejected_rows 1', 'position_held 0'])

    await sql`update observations set removed_at = now() where observation_no < 500`
    const [, option = ''] = await fed.shows(
      /failed: nothing was loaded: the round would remove .* the same command with --max-removed (\d+), without --every; the next attempt/,
    )
    const detail =
      'a round would have removed more than --max-removed allows; the log says how to load it once'
    expect(await ready()).toEqual({
      status: 503,
      checks: [{ check: 'feed', status: 'wrong', detail }, warns],
    })
    expect(await gauges()).toEqual(['removals_refused 1', 'rejected_rows 1', 'position_held 0'])

    const once = await axport(args(...leaveOut, '--max-removed', option), {
      env: { DATABASE_URL: database.url, PLATFORM_URL: cluster.url() },
    })
    expect(once).toMatchObject({ code: 0, stdout: expect.stringContaining(' 1 rejected (written to ') })
    await fed.shows(/failed.*\n(.*\n)*.* loaded \d+ rows/)
    expect(await ready()).toEqual({ status: 200, checks: [isWell, warns] })

    await sql`update people set given = 'Mended' where person_no = 5`
    await fed.shows(/rejected.*\n.* loaded \d+ rows in [\d.]+ s: 0 inserted, 1 updated/)
    expect(await gauges()).toEqual(['removals_refused 0', 'rejected_rows 0', 'position_held 0'])
    await isSame()
    await sql`update observations set removed_at = null where observation_no < 500`
  })

  test('that is killed in the middle of a round has loaded nothing of it; the next round loads all', async () => {
    const release = await hold()
    const fed = await feed()
    await isHeld()
    fed.signal('SIGKILL')
    await fed.finished
    expect(await database.sql`select from organizations`).toBeEmpty()
    expect(await database.sql`select from feeds`).toBeEmpty()
    await release()
    const env = { DATABASE_URL: database.url, PLATFORM_URL: cluster.url() }
    const { stdout } = await axport(args('--json'), { env })
    expect(JSON.parse(stdout)).toMatchObject({ loaded: true, since: '-infinity' })
    await isSame()
  })

  test('prints the error as JSON if the platform or its own database ends the connection', async () => {
    const release = await hold()
    const fed = await feed({}, '--json')
    const lines = () =>
      fed
        .stdout()
        .split('\n')
        .filter(line => line !== '')
        .map(line => JSON.parse(line))
    const held = async () => {
      const count = lines().length
      await isHeld()
      return { next: () => until('there is a line for the round', () => lines()[count]) }
    }
    const first = await held()
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'axport'`
    expect(await first.next()).toMatchObject({
      loaded: false,
      error:
        'users.sql: the platform went away before all was read; nothing was loaded: run the same command again',
      since: '-infinity',
      next_attempt_in: 1,
    })
    const second = await held()
    await until('the session of the import is ended', async () => {
      const { count } = await database.sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and state = 'idle in transaction'`
      return count > 0
    })
    await release()
    expect(await second.next()).toMatchObject({ loaded: false, error: expect.stringContaining('connection') })
    const success = await until('a round is loaded', () => lines().find(({ loaded }) => loaded))
    expect(success).toMatchObject({ since: '-infinity', rejected: 0, users: { inserted: 40 } })
    await isSame()
  })

  test('takes turns with a second process for the same feed, and loses no change', async () => {
    const release = await hold()
    const first = await feed()
    await isHeld()
    const second = await feed()
    await until('the second says that it waits', () => second.stderr().includes('waiting for another import'))
    await release()
    await Promise.all([first, second].map(fed => fed.shows(/loaded/)))
    for (const number of [1, 2, 3]) {
      await sql`update people set given = ${`Round${number}`} where person_no = ${number}`
      await until('it is loaded', async () => {
        const [row] = await database.sql`select name from users where id = ${number}`
        return row?.name === `Round${number}`
      })
    }
    for (const fed of [first, second]) expect(fed.stdout()).not.toContain('failed')
    await isSame()
  })

  test('exits with 0 at SIGTERM: immediately between two rounds, and after SHUTDOWN_TIMEOUT within one', async () => {
    const release = await hold()
    const fed = await feed({ SHUTDOWN_TIMEOUT: '1' })
    await isHeld()
    fed.signal('SIGTERM')
    const { code, stdout } = await fed.finished
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^\S+ failed: .*\n$/)])
    expect(await database.sql`select from organizations`).toBeEmpty()
    await until(
      'no session waits on the platform',
      async () => {
        const { count } = await sql`select from pg_stat_activity where application_name = 'axport'`
        return count === 0
      },
      20_000,
    )
    await release()
  })

  test('accepts an interval longer than the longest timer', async () => {
    const fed = await feed({}, '--every', '30d')
    await fed.shows(/^\S+Z loaded .*\n/)
    // This command takes longer than a second round would need to start, if the interval were ignored.
    expect(await axport(['import', '--help'])).toMatchObject({ code: 0 })
    fed.signal('SIGTERM')
    expect(await fed.finished).toMatchObject({ code: 0, stdout: expect.stringMatching(/^.*\n$/) })
  })

  test('reads a standby, and misses no change that was replayed late', async () => {
    await sql.end({ timeout: 1 })
    const standby = await cluster.startStandby()
    sql = connect()
    const onStandby = postgres(standby.url(), { max: 1, onnotice: () => {} })
    const fed = () => round(database.sql, standby.url(), { queries, overlap: 0.001 })
    const arrived = (name: string) =>
      until('it has reached the standby', async () => {
        const { count } = await onStandby`select from people where given = ${name}`
        return count > 0
      })
    await fed()
    await onStandby`select pg_wal_replay_pause()`
    await sql`update people set given = 'Late' where person_no = 9`
    await fed()
    await onStandby`select pg_wal_replay_resume()`
    await arrived('Late')
    expect(await fed()).toMatchObject({ summary: { users: { updated: 1 } } })
    await onStandby.end({ timeout: 1 })
    await standby.stop()
  })

  test('exits immediately for an error that no later round can resolve', async () => {
    const run = (given: string[], env: Record<string, string> = { DATABASE_URL: database.url }) =>
      axport(['import', '--every', '1s', ...given], { env: { PLATFORM_URL: cluster.url(), ...env } })
    const failed = (stderr: RegExp) => ({ code: 1, stdout: '', stderr: expect.stringMatching(stderr) })
    expect(await run(['--queries', '/nowhere'])).toEqual(failed(/^axport: --queries names \/nowhere/))
    expect(await run(['--from-file', '/nowhere', '--queries', queries])).toEqual(
      failed(/^axport: --from-file names/),
    )
    expect(await run(['--queries', queries], {})).toEqual(failed(/^axport: DATABASE_URL is not set/))
  })

  test('notices a platform that silently disappeared, and does not interrupt a slow one', async () => {
    const proxy = await FlakyProxy.start(cluster.url())
    const url = readPostgresUrl(proxy.url)
    const connectThrough = () => openFirst(url, 5000)
    const bytesOf = async (statement: string) => {
      const connection = await connectThrough()
      const endChecks = startSilenceCheck(connection, connectThrough, 200)
      try {
        let bytes = 0
        for await (const chunk of connection.copy(statement)) bytes += chunk.length
        return bytes
      } finally {
        endChecks()
        connection.destroy()
      }
    }
    expect(await bytesOf('copy (select 1 from pg_sleep(2)) to stdout')).toBe(2)
    const waiting = bytesOf('copy (select 1 from pg_sleep(60)) to stdout').then(
      () => 'it came to its end',
      () => 'it was noticed',
    )
    await until('the query runs', async () => {
      const { count } =
        await sql`select from pg_stat_activity where query like '%pg_sleep(60)%' and state = 'active' and pid <> pg_backend_pid()`
      return count > 0
    })
    proxy.setNetwork({ is: 'silent' })
    expect(await waiting).toBe('it was noticed')
    await proxy.stop()
  })
})

test('an ordinary role can find out that a server has autovacuum on', async () => {
  const vacuumed = await startCluster({ settings: { autovacuum: 'on' } })
  const admin = postgres(vacuumed.url(), { max: 1, onnotice: () => {} })
  await admin`create role plain login password 'plain'`
  const url = new URL(vacuumed.url())
  Object.assign(url, { username: 'plain', password: 'plain' })
  const sql = postgres(url.href, { max: 1, onnotice: () => {} })
  expect(await isVacuumed(sql)).toBe(true)
  await sql.end()
  await admin.end()
  await vacuumed.stop()
})
