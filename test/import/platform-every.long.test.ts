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
import { readQueries } from '../../src/import/platform/queries.ts'
import { openSnapshot } from '../../src/import/platform/snapshot.ts'
import { axport, cleanUp, emptyFolder, type Running, start } from '../support/executable.ts'
import { FlakyProxy } from '../support/flaky-proxy.ts'
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

  test('loads changes, ends with 1 when the platform is away, and goes on where it was when it is started again', async () => {
    const fed = await feed()
    await fed.shows(/^\S+Z loaded \d+ rows in [\d.]+ s: \d+ inserted, 0 updated/)
    await sql`update people set given = 'Anna' where person_no = 5`
    await fed.shows(/: 0 inserted, 1 updated, \d+ unchanged, 0 deleted\n/)

    await cluster.crash()
    const ended = await fed.finished
    expect(ended.code).toBe(1)
    // A slow machine prints its progress before.
    expect(ended.stderr).toMatch(/^axport: cannot reach the platform: .*\n$/m)
    expect(ended.stderr).not.toContain(new URL(cluster.url()).password)
    await sql.end({ timeout: 1 })
    await cluster.restart()
    sql = connect()
    await sql`update people set given = 'Berta' where person_no = 5`
    const again = await feed()
    await again.shows(/^\S+Z loaded \d+ rows in [\d.]+ s: 0 inserted, 1 updated/)
    again.signal('SIGTERM')
    expect((await again.finished).code).toBeOneOf([0, 130])
    await isSame()
  })

  test('names the rows that it leaves out once, and ends at a round that would remove too much', async () => {
    const leaveOut = ['--rejects', join(emptyFolder(), 'rejects')]
    const fed = await feed({}, ...leaveOut)
    await fed.shows(/loaded \d+ rows/)
    await sql`update people set given = '' where person_no = 5`
    const note =
      '1 rejected \\(written to .*\\): .*; note: left out, and read again by the next round: users\\.sql id 5; note: rejected: 1 × name is missing'
    await fed.shows(new RegExp(`${note}\n(.* 1 rejected .* deleted\n){2}`))

    await sql`update observations set removed_at = now() where observation_no < 500`
    const { code, stderr } = await fed.finished
    expect(code).toBe(1)
    const [, command = ''] =
      /^axport: nothing was loaded: the round would remove .* once: axport (import --max-removed \d+ .*)\n$/.exec(
        stderr,
      ) ?? []
    const once = await axport(command.split(' '), {
      env: { DATABASE_URL: database.url, PLATFORM_URL: cluster.url() },
    })
    expect(once).toMatchObject({ code: 0, stdout: expect.stringContaining(' 1 rejected (written to ') })

    await sql`update people set given = 'Mended' where person_no = 5`
    await (await feed({}, ...leaveOut)).shows(/loaded \d+ rows in [\d.]+ s: 0 inserted, 1 updated/)
    await isSame()
    await sql`update observations set removed_at = null where observation_no < 500`
  })

  test('goes on at a round with more bad rows than it may leave out, and names each of them once', async () => {
    const fed = await feed({}, '--rejects', join(emptyFolder(), 'rejects'), '--max-rejected', '1')
    await fed.shows(/loaded \d+ rows/)
    await sql`update people set given = '' where person_no in (5, 6)`
    const failed = 'axport: nothing was loaded: 2 bad rows of '
    await until('three rounds have failed', () => fed.stderr().split(failed).length > 3)
    await sql`update people set given = 'Corrected' where person_no in (5, 6)`
    await fed.shows(/: 0 inserted, 2 updated/)
    for (const id of [5, 6])
      expect(fed.stderr().split(`users.sql id ${id}: name is missing\n`)).toHaveLength(2)
    fed.signal('SIGTERM')
    await fed.finished
    await isSame()
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

  test('ends with the error as JSON if the platform or its own database ends the connection', async () => {
    const release = await hold()
    const first = await feed({}, '--json')
    await isHeld()
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'axport'`
    const { code, stdout } = await first.finished
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({
      loaded: false,
      error:
        'users.sql: the platform went away before all was read; nothing was loaded: run the same command again',
    })
    const second = await feed({}, '--json')
    await isHeld()
    await until('the session of the import is ended', async () => {
      const { count } = await database.sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and state = 'idle in transaction'`
      return count > 0
    })
    await release()
    expect(await second.finished).toMatchObject({ code: 1, stderr: expect.stringContaining('connection') })
    const third = await feed({}, '--json')
    const [line = ''] = await third.shows(/^{.*}\n/)
    expect(JSON.parse(line)).toMatchObject({
      loaded: true,
      since: '-infinity',
      rejected: 0,
      users: { inserted: 40 },
    })
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

  test('ends at SIGTERM: with 130 within a round, of which nothing is loaded, and with 0 between two', async () => {
    const release = await hold()
    const fed = await feed()
    await isHeld()
    fed.signal('SIGTERM')
    expect(await fed.finished).toEqual({
      code: 130,
      stdout: '',
      stderr: 'axport: interrupted: nothing was loaded\n',
    })
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
    const resting = await feed({}, '--every', '1d')
    await resting.shows(/^\S+Z loaded .*\n/)
    // This command takes longer than a second round would need to start, if the period were ignored.
    expect(await axport(['import', '--help'])).toMatchObject({ code: 0 })
    resting.signal('SIGTERM')
    expect(await resting.finished).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^.*\n$/),
      stderr: '',
    })
  })

  test('reads a standby, and misses no change that was replayed late', async () => {
    await sql.end({ timeout: 1 })
    const standby = await cluster.startStandby()
    sql = connect()
    const onStandby = postgres(standby.url(), { max: 1, onnotice: () => {} })
    const fed = () => round(database.sql, standby.url(), { queries, overlapSeconds: 0.001 })
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

  test('gives up a platform that sends nothing for so long, and does not interrupt one that is slow', async () => {
    const proxy = await FlakyProxy.start(cluster.url())
    const [query] = readQueries(
      folderOf({
        'organizations.sql': `
        select n, repeat('x', 20000), pg_sleep(0.5) from generate_series(1, 6) as n`,
      }),
    ).queries
    if (!query) throw new Error('there is no query')
    const read = async (onRow = () => {}) => {
      const snapshot = await openSnapshot(proxy.url, undefined, 0, 2000)
      try {
        let bytes = 0
        for await (const chunk of snapshot.copy(query)) {
          bytes += chunk.length
          onRow()
        }
        return bytes
      } finally {
        await snapshot.close()
      }
    }
    // Three seconds in all, of which no row takes two. Postgres sends some thousand bytes at a time.
    expect(await read()).toBeGreaterThan(10)
    await expect(read(() => proxy.setNetwork({ is: 'silent' }))).rejects.toThrow(
      'organizations.sql: the platform went away before all was read',
    )
    await proxy.stop()
  })
})
