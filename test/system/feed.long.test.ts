import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import postgres, { type Sql } from 'postgres'
import { emptyDatabase, type TestDatabase } from '../support/cluster.ts'
import { codeUnder, DATA, ROOT } from '../support/document.ts'
import { cleanUp, emptyFolder, ended, executable, launch, type Running } from '../support/executable.ts'
import { staleRecords } from '../support/import.ts'
import { EXAMPLE, round } from '../support/platform-example.ts'
import { program, requires } from '../support/requires.ts'
import { openTestDatabase } from '../support/service.ts'

setDefaultTimeout(120_000)

/** The commands of docs/operate/data.md: the service of psql, and the three ways to export. */
const [SERVICE = '', NDJSON = '', CSV = '', OUTBOX = ''] = codeUnder('Exports by psql', 'sh', DATA)
const PSQL = program('psql', 'postgresql-client-15')

requires(PSQL).describe('a feed, and the exports by psql of docs/operate/data.md,', () => {
  let platform: TestDatabase
  let database: TestDatabase
  let platformSql: Sql
  let sql: Sql
  const opened: TestDatabase[] = []
  let env: Record<string, string>
  const running: Running[] = []

  /** Creates two empty databases: a platform and an export. */
  async function openPair() {
    platform = await emptyDatabase()
    database = await emptyDatabase()
    opened.push(platform, database)
    platformSql = postgres(platform.url, { max: 2, onnotice: () => {} })
    sql = postgres(database.url, { max: 2, onnotice: () => {} })
    const bin = join(emptyFolder(), 'bin')
    mkdirSync(bin)
    symlinkSync(await executable(), join(bin, 'axport'))
    env = {
      PATH: `${bin}:${dirname(Bun.which('psql') as string)}:/usr/bin:/bin`,
      HOME: emptyFolder(),
      PLATFORM_URL: platform.url,
      DATABASE_URL: database.url,
    }
  }
  beforeAll(openPair)
  afterEach(() => {
    for (const one of running) one.signal('SIGKILL')
  })
  afterAll(async () => {
    await cleanUp()
    await platformSql.end({ timeout: 1 })
    await sql.end({ timeout: 1 })
    for (const { drop } of opened) await drop()
  })

  function shell(script: string, cwd = ROOT): Running {
    const started = launch(['/bin/sh', '-c', script], { env, cwd })
    running.push(started)
    return started
  }

  /** Makes a folder with the example, as that of a release has it. */
  function elsewhere(): string {
    const folder = emptyFolder()
    symlinkSync(EXAMPLE, join(folder, 'platform-example'))
    return folder
  }

  /** The documents that a full load of the platform's current data would make. */
  async function shouldBe(): Promise<string[]> {
    const fresh = await openTestDatabase()
    try {
      await fresh.sql`update export_state set time_zone = 'America/Chicago'`
      await round(fresh.sql, platform.url, { isFull: true })
      return (await fresh.sql<{ document: string }[]>`select document from export_records order by id`).map(
        ({ document }) => document,
      )
    } finally {
      await fresh.close()
    }
  }
  const isNow = async () =>
    (await sql<{ document: string }[]>`select document from export_records order by id`).map(
      ({ document }) => document,
    )

  test('loads the changes of a platform in a later round', async () => {
    const folder = 'docs/operate/platform-example'
    const feed = `axport import --queries ${folder}/queries --every 5s`
    for (const command of [
      `psql "$PLATFORM_URL" -q -f ${folder}/schema.sql -f ${folder}/data.sql`,
      'axport migrate --time-zone America/Chicago',
    ]) {
      const { code, stderr } = await shell(command).finished
      expect([command, code, stderr]).toEqual([command, 0, ''])
    }
    const fed = shell(`exec ${feed}`)
    await fed.shows(/loaded \d+ rows in [\d.]+ s: \d+ inserted, 0 updated, 20 unchanged, 0 deleted\n/)
    expect(await isNow()).toEqual(await shouldBe())
    await platformSql.begin(async sql => {
      await sql`update people set family = 'Ruiz' where person_no = 7`
      await sql`update observations set removed_at = now() where observation_no = 70`
    })
    await fed.shows(/: 0 inserted, 1 updated, \d+ unchanged, [1-9] deleted\n/)
    // At once: the next round begins five seconds later, and the comparison may take longer.
    fed.signal('SIGTERM')
    expect(await ended(fed, {})).toMatchObject({ code: 0, stderr: '' })
    expect(await isNow()).toEqual(await shouldBe())
    expect(await staleRecords(sql)).toBeEmpty()
  })

  test('names the platform to psql in a file that only its owner can read', async () => {
    const { hostname, port, pathname, username, password } = new URL(platform.url)
    const line = SERVICE.replace('host=127.0.0.1', `host=${hostname} port=${port}`)
      .replace('dbname=platform', `dbname=${pathname.slice(1)}`)
      .replace('user=axport_reads', `user=${username}`)
      .replace('password=password5', `password=${password || 'none'}`)
    expect(await shell(line).finished).toMatchObject({ code: 0, stderr: '' })
    const { stdout } = await shell('stat -c %a ~/.pg_service.conf; psql service=platform -XAtc "select 1"')
      .finished
    expect(stdout).toBe('600\n1\n')
  })

  test('has a recipe for NDJSON by psql that keeps backslashes and fails when the platform fails', async () => {
    await platformSql`update people set family = 'Back\\slash "quoted"' where person_no = 8`
    expect(await shell(NDJSON, elsewhere()).finished).toMatchObject({ code: 0 })
    const [user] = await sql`select last_name from users where id = 8`
    expect(user?.last_name).toBe('Back\\slash "quoted"')
    expect((await isNow()).length).toBe((await shouldBe()).length)
    const failing = readFileSync(join(EXAMPLE, 'ndjson.sql'), 'utf8').replace(
      'select line from (',
      'select line from (select 1/0 as rank, line from lines union all ',
    )
    const folder = emptyFolder()
    mkdirSync(join(folder, 'platform-example'))
    await Bun.write(join(folder, 'platform-example', 'ndjson.sql'), failing)
    const away = await shell(NDJSON, folder).finished
    expect([away.code, away.stderr]).toEqual([1, expect.stringContaining('division by zero')])
  })

  test('has a recipe for five CSV files of one snapshot', async () => {
    await sql`truncate organizations, products, users, assessments, assessment_parts`
    expect(await shell(CSV, elsewhere()).finished).toMatchObject({ code: 0 })
    expect(await isNow()).toEqual(await shouldBe())
  })

  test('has a recipe for an outbox that loads the last line of each id once, and repeats lines that were not loaded', async () => {
    await platformSql.unsafe(readFileSync(join(EXAMPLE, 'outbox.sql'), 'utf8'))
    const folder = elsewhere()
    const write = (...lines: object[]) =>
      platformSql`insert into outbox (line) select * from unnest(${lines.map(line => JSON.stringify(line))}::text[]::jsonb[])`
    const names = async () =>
      (await sql`select name from organizations where id > 1000 order by id`).map(({ name }) => name)
    const waiting = async () => (await platformSql`select from outbox`).count
    expect(await shell(OUTBOX, folder).finished).toMatchObject({ code: 0, stdout: '' })
    await write(
      { type: 'organization', id: 1001, name: 'first' },
      { type: 'organization', id: 1002, name: 'other' },
      { type: 'organization', id: 1001, name: 'last' },
    )
    expect(await shell(OUTBOX, folder).finished).toMatchObject({ code: 0 })
    expect([await names(), await waiting()]).toEqual([['last', 'other'], 0])
    await write({ type: 'organization', id: 1002, name: ' ' })
    expect((await shell(OUTBOX, folder).finished).code).toBe(1)
    await write({ type: 'organization', id: 1002, name: 'mended' })
    expect(await shell(OUTBOX, folder).finished).toMatchObject({ code: 0 })
    expect([await names(), await waiting()]).toEqual([['last', 'mended'], 0])
  })
})
