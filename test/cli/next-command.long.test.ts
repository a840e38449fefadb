import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import postgres, { type Sql } from 'postgres'
import { axport, cleanUp, emptyFolder, errorLine, type Running, start } from '../support/executable.ts'
import { ndjsonOf, organization } from '../support/fixtures.ts'
import { type OwnCluster, startCluster } from '../support/own-cluster.ts'
import { EXAMPLE, QUERIES } from '../support/platform-example.ts'
import { queriesWith, usersQuery } from '../support/platform-queries.ts'
import { until } from '../support/until.ts'
import { CUT } from '../support/wordings.ts'

setDefaultTimeout(120_000)

const CHECK = 'axport import … --queries DIR --dry-run'
const GONE = 'the platform went away before all was read; nothing was loaded: run the same command again'
const LOST = `${CUT}: nothing was loaded; run the same command again`

/** A query that waits while a session of the platform holds the advisory lock 42. */
const HELD = {
  'users.sql': usersQuery('where pg_advisory_xact_lock_shared(42) is not null'),
}

describe('one line says what is wrong and names the next command', () => {
  let platform: OwnCluster
  let database: OwnCluster
  let sql: Sql
  const connect = async (cluster: OwnCluster) => postgres(cluster.url(), { max: 3, onnotice: () => {} })
  beforeAll(async () => {
    ;[platform, database] = await Promise.all([startCluster(), startCluster()])
    sql = await connect(platform)
    for (const file of ['schema.sql', 'data.sql']) await sql.unsafe(readFileSync(join(EXAMPLE, file), 'utf8'))
    const own = await connect(database)
    for (const one of [sql, own]) await one`create role operator superuser login password 'secret'`
    await own.end()
    expect((await axport(['migrate', '--time-zone', 'UTC'], { env: env() })).code).toBe(0)
  })
  beforeEach(async () => {
    await sql.end({ timeout: 1 })
    sql = await connect(platform)
  })
  afterAll(async () => {
    await sql.end({ timeout: 1 })
    await cleanUp()
    await Promise.all([platform.stop(), database.stop()])
  })

  const urlOf = (cluster: OwnCluster, password = 'secret') =>
    cluster.url().replace(/\/\/[^@]*@/, `//operator:${password}@`)
  const env = (password?: string) => ({ DATABASE_URL: urlOf(database, password) })
  const fileOf = (text: string) => {
    const file = join(emptyFolder(), 'file')
    writeFileSync(file, text)
    return file
  }
  const feed = (queries = QUERIES, password?: string) => [
    'import',
    '--from-file',
    fileOf(urlOf(platform, password)),
    '--queries',
    queries,
  ]

  /** The line of a command, and of the command with --every where it can be given. Neither has a URL or a password. */
  async function linesOf(args: string[], password?: string): Promise<string[]> {
    const lines = [errorLine(await axport(args, { env: env(password) }), 1)]
    if (args.includes('--queries')) {
      lines.push(errorLine(await axport([...args, '--every', '1s'], { env: env(password) }), 1))
    }
    for (const line of lines) expect(line).not.toMatch(/postgres:|secret|old/)
    return lines
  }

  test('after the password of the database was changed', async () => {
    const line =
      'cannot reach the database: it refuses the user or password in DATABASE_URL: correct it there, then check it by axport doctor'
    expect(await linesOf(['migrate'], 'old')).toEqual([line])
    expect(await linesOf(['import', fileOf(ndjsonOf([organization(1)]))], 'old')).toEqual([line])
    expect(await linesOf(feed(), 'old')).toEqual([line, line])
  })

  test('after the password of the platform was changed', async () => {
    const line = `cannot reach the platform: it refuses the user or password in the URL of the platform: correct it there, then check it by ${CHECK}`
    expect(await linesOf(feed(QUERIES, 'old'))).toEqual([line, line])
  })

  test.each([
    [
      'column "mails" does not exist (SQLSTATE 42703): correct users.sql,',
      'select person_no as id,\nmails as email from people',
    ],
    [
      'relation "persons" does not exist (SQLSTATE 42P01): the platform has no such table: create it there, write its schema before its name, or correct users.sql;',
      'select person_no as id\nfrom persons',
    ],
  ])('after a rename on the platform: %s', async (reason, users) => {
    const line = `users.sql line 2: ${reason} then check it by ${CHECK}`
    const queries = queriesWith({ 'users.sql': users })
    expect(await linesOf(feed(queries))).toEqual([line, line])
    // The command that the line names finds the same.
    expect(errorLine(await axport([...feed(queries), '--dry-run'], { env: env() }), 1)).toBe(line)
  })

  test('after a privilege was revoked on the platform', async () => {
    await sql`create role poor login password 'secret'`
    const line = `organizations.sql: permission denied for table districts (SQLSTATE 42501): grant it to the role in the URL of the platform (usage on the schema, select on the table), then check it by ${CHECK}`
    const args = [
      'import',
      '--from-file',
      fileOf(urlOf(platform).replace('operator', 'poor')),
      '--queries',
      QUERIES,
    ]
    expect(await linesOf(args)).toEqual([line, line])
    expect((await axport([...args, '--dry-run'], { env: env() })).stderr).toContain(`${line}\n`)
  })

  test('with --sync after a third of the rows has gone; the command that it names removes them', async () => {
    await axport(feed(), { env: env() })
    await sql`delete from stages where observation_no % 30 = 0`
    await sql`delete from observations where observation_no % 30 = 0`
    const args = [...feed(), '--sync']
    const [line = '', every] = await linesOf(args)
    expect(every).toBe(line)
    const [, command = ''] =
      / 60 of 180 assessments.*once: axport (import --max-removed 60 .*)$/.exec(line) ?? []
    expect((await axport(command.split(' '), { env: env() })).code).toBe(0)
    expect((await axport(args, { env: env() })).code).toBe(0)
  })

  /** Starts the arguments, and does `act` while a query of the platform is held. */
  async function whileRead(args: string[], act: () => Promise<void>): Promise<Running> {
    const holder = await connect(platform)
    const session = await holder.reserve()
    await session`select pg_advisory_lock(42)`
    const running = await start(args, { env: env() })
    await until('the query waits', async () => {
      const { count } = await sql`select from pg_locks where locktype = 'advisory' and not granted`
      return count > 0
    })
    await act()
    await holder.end({ timeout: 0 })
    return running
  }

  test.each([
    ['the platform', () => platform.restart(), `users.sql: ${GONE}`],
    ['the database', () => database.restart(), LOST],
  ])('after a restart of %s while the platform is read', async (_, restart, line) => {
    const args = feed(queriesWith(HELD))
    const once = await whileRead(args, restart)
    expect(errorLine(await once.finished, 1)).toBe(line)
    await sql.end({ timeout: 1 })
    sql = await connect(platform)
    const every = await whileRead([...args, '--every', '1s'], restart)
    expect(errorLine(await every.finished, 1)).toBe(line)
  })

  test('after a restart of the database while a file is read', async () => {
    const running = await start(['import', '-'], { env: env(), stdin: 'open' })
    await running.stdin.write(ndjsonOf([organization(1)]))
    const own = await connect(database)
    await until('the import reads', async () => {
      // Its last statement before that.
      const { count } = await own`
        select from pg_stat_activity
        where usename = 'operator' and state like 'idle in%' and query like '%import_texts%'`
      return count > 0
    })
    await own.end({ timeout: 0 })
    await database.restart()
    await running.stdin.write(ndjsonOf([organization(2)]))
    running.stdin.end()
    expect(errorLine(await running.finished, 1)).toBe(LOST)
  })

  test('after a restart of the database while migrate waits for a lock', async () => {
    const own = await connect(database)
    const session = await own.reserve()
    await session`begin`
    await session`lock table export_state`
    const running = await start(['migrate', '--time-zone', 'Europe/Berlin'], { env: env() })
    await until('migrate waits', async () => {
      const { count } = await own`
        select from pg_stat_activity where usename = 'operator' and wait_event_type = 'Lock'`
      return count > 0
    })
    await own.end({ timeout: 0 })
    await database.restart()
    expect(await running.finished).toEqual({
      code: 1,
      stdout: 'the schema is up to date\n',
      stderr: `axport: ${CUT}: the schema is up to date; the rest was not done; run the same command again\n`,
    })
  })

  test('while the platform or the database is stopped', async () => {
    const listens = (name: string) =>
      `nothing listens there: is Postgres running, and are host and port of ${name} right?`
    await sql.end({ timeout: 1 })
    await platform.crash()
    const line = `cannot reach the platform: ${listens('the URL of the platform')} Then check it by ${CHECK}`
    expect(await linesOf(feed())).toEqual([line, line])
    await platform.restart()
    await database.crash()
    const own = `cannot reach the database: ${listens('DATABASE_URL')} Then check it by axport doctor`
    expect(await linesOf(['migrate'])).toEqual([own])
    expect(await linesOf(feed())).toEqual([own, own])
    await database.restart()
  })
})
