import { afterAll, describe, expect, test } from 'bun:test'
import { readQueries } from '../../src/import/platform/queries.ts'
import { cleanUp } from '../support/executable.ts'
import { everything, idsOf, staleRecords, useDatabase } from '../support/import.ts'
import { exported, round, usePlatform } from '../support/platform-example.ts'
import { queriesWith, usersQuery } from '../support/platform-queries.ts'
import { until } from '../support/until.ts'
import { folderOf } from './csv-files.ts'
import { useFeed } from './use-feed.ts'

afterAll(cleanUp)

/** The command that messages name. */
const CHECK = 'axport import … --queries DIR --dry-run'

const messageOf = async (work: Promise<unknown>) =>
  await work.then(
    () => 'it was loaded',
    (error: Error) => error.message,
  )

describe('a feed from a platform', () => {
  const { database, platform, feed } = useFeed()
  const failure = (files: Record<string, string | undefined>) =>
    messageOf(feed({ queries: queriesWith(files) }))

  test('loads everything first, then only changes, and removes softly deleted rows', async () => {
    const first = await feed()
    expect(first).toMatchObject({ loaded: true, since: '-infinity', rejected: 0 })
    expect(first.loaded && first.summary.assessments?.inserted).toBe(180)
    expect(await staleRecords(database.sql)).toBeEmpty()

    const second = await feed({ overlapSeconds: 0.000_001 })
    expect(second).toMatchObject({ loaded: true, lines: 0, notes: [] })
    expect(second.since).not.toBe('-infinity')

    await platform.sql`update observations set removed_at = now() where observation_no = 30`
    await platform.sql`update observations set state = 'under_way', finished_at = null where observation_no = 40`
    await platform.sql`update people set family = 'Neu', left_on = '2026-11-20' where person_no = 3`
    await platform.sql`update stages set removed_at = now() where stage_no = 51`
    const third = await feed({ overlapSeconds: 0.000_001 })
    expect(third).toMatchObject({
      lines: 4,
      summary: {
        users: { updated: 1 },
        assessments: { updated: 1, deleted: 2 },
        assessment_parts: { inserted: 1, deleted: 5 },
      },
    })
    const records = (await exported(database.sql)).map(text => JSON.parse(text))
    expect(records.map(({ id }) => id)).not.toContain(30)
    expect(records.find(({ id }) => id === 50).results).toHaveLength(1)
    expect(await staleRecords(database.sql)).toBeEmpty()
  })

  test('reads rows again whose time of change is within the overlap', async () => {
    await feed()
    const [before] = await database.sql<{ at: string }[]>`
      select (snapshot_at - interval '1 hour')::text as at from feeds`
    const { since, lines } = await feed({ overlapSeconds: 3600 })
    expect(Date.parse(since as string)).toBe(Date.parse(before?.at as string))
    expect(lines).toBeGreaterThan(100)
  })

  test('reads everything with --full, for a new feed name, and after a query was changed or added', async () => {
    await feed()
    expect((await feed()).since).not.toBe('-infinity')
    expect((await feed({ isFull: true })).since).toBe('-infinity')
    expect((await feed({ feed: 'other' })).since).toBe('-infinity')
    const queries = queriesWith({ 'products.sql': 'select rubric_no as id, label as name from rubrics' })
    expect(await feed({ queries })).toMatchObject({
      since: '-infinity',
      notes: ['all was read: products.sql has changed since the position of the feed was stored'],
    })
    expect((await feed({ queries })).since).not.toBe('-infinity')
    const fewer = queriesWith({ 'products.sql': undefined })
    await feed({ queries: fewer, feed: 'fewer' })
    expect(await feed({ feed: 'fewer' })).toMatchObject({
      since: '-infinity',
      notes: ['all was read: products.sql has changed since the position of the feed was stored'],
    })
  })

  test('does not advance after a dry run', async () => {
    await feed({}, { dryRun: true })
    expect(await database.sql`select from feeds`).toBeEmpty()
  })

  test('does not advance if the commit of its load fails', async () => {
    await database.sql.unsafe(`
      create function refuse_commit() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
      create constraint trigger refuse_commit after update on export_state deferrable initially deferred
        for each row execute function refuse_commit()`)
    try {
      expect(await messageOf(feed())).toBe('refused')
    } finally {
      await database.sql`drop function refuse_commit cascade`
    }
    expect(await database.sql`select from feeds`).toBeEmpty()
  })

  test('with --sync removes rows that the platform no longer has, up to the limit', async () => {
    await feed()
    await database.sql`insert into organizations (id, name) values (99, 'gone')`
    const sync = (percent: number) => feed({ isFull: true }, { sync: { percent } })
    expect(await messageOf(sync(10))).toContain('--sync would remove 1 of 6 organizations')
    expect(await sync(20)).toMatchObject({ loaded: true, summary: { organizations: { deleted: 1 } } })
    expect(await idsOf(database.sql, 'organizations')).toEqual([1, 2, 3, 4, 5])
  })

  test('reports the file and line of an error in a query, loads nothing, and closes its connection', async () => {
    await feed()
    const before = await everything(database.sql)
    expect(await failure({ 'users.sql': 'select person_no as id,\n  name\nfrom people' })).toBe(
      `users.sql line 2: column "name" does not exist (SQLSTATE 42703): correct users.sql, then check it by ${CHECK}`,
    )
    const missing = (what: string) =>
      `: the platform has no ${what}: create it there, write its schema before its name, or correct users.sql; then check it by ${CHECK}`
    expect(await failure({ 'users.sql': 'select number_key(1)' })).toBe(
      `users.sql line 1: function number_key(integer) does not exist (SQLSTATE 42883)${missing('such function or operator for these types')}`,
    )
    expect(await failure({ 'users.sql': 'select hr.number_key(1)' })).toBe(
      `users.sql line 1: schema "hr" does not exist (SQLSTATE 3F000)${missing('such schema')}`,
    )
    expect(await failure({ 'users.sql': 'select from persons' })).toEndWith(missing('such table'))
    expect(await failure({ 'users.sql': 'select 1::badge' })).toEndWith(missing('such type'))
    expect(await failure({ 'users.sql': '-- é\nselect id frm people\n;' })).toMatch(
      /^users\.sql line 2: syntax error at or near "people"/,
    )
    expect(await failure({ 'users.sql': 'select 1 as id; drop table people' })).toMatch(
      /^users\.sql line 1: syntax error/,
    )
    expect(await failure({ 'users.sql': 'select person_no as key from people' })).toBe(
      'users.sql gives no column id, name, first_name, last_name, email, seid, record_status: name each in the select, as in select key as id, null as seid',
    )
    const writing = usersQuery('', { id: `nextval('unread')` })
    await platform.sql`create sequence if not exists unread`
    expect(await failure({ 'users.sql': writing })).toBe(
      'users.sql: cannot execute nextval() in a read-only transaction (SQLSTATE 25006): a query may only read',
    )
    expect(await failure({ 'users.sql': usersQuery('', { email: 'mail::int::text' }) })).toBe(
      'users.sql: invalid input syntax for type integer (SQLSTATE 22P02)',
    )
    expect(await failure({ 'users.sql': ' ;\n' })).toBe('users.sql is empty: write a select into it')
    expect(await everything(database.sql)).toEqual(before)
    await until('no session is connected to the platform', async () => {
      const { count } = await platform.sql`
        select from pg_stat_activity where application_name = 'axport' and datname = current_database()`
      return count === 0
    })
  })

  test('names the query and the id of a row that cannot be loaded', async () => {
    const local = `
      select observation_no as id, teacher_no as user_id, district_no as organization_id, rubric_no as product_id,
        finished_at::timestamp as certified_at, from_old_system as legacy_record, null as proctor_id from observations`
    const result = await feed({ queries: queriesWith({ 'assessments.sql': local }) })
    if (result.loaded) throw new Error('it was loaded')
    expect(result.problems[0]).toEqual({
      file: 'assessments.sql',
      id: expect.any(Number),
      reason: expect.stringMatching(/^certified_at (must be a day|is missing)/),
    })
  })

  test('says what to do about a person who is deleted while assessments are left', async () => {
    await feed()
    const only = {
      'organizations.sql': undefined,
      'products.sql': undefined,
      'assessment_parts.sql': undefined,
    }
    const [left] = await database.sql<{ id: string }[]>`select min(user_id) as id from assessments`
    const voided = usersQuery().replace(' from people', `, person_no = ${left?.id} as deleted from people`)
    const reasonsOf = async (others: Record<string, undefined>) => {
      const queries = queriesWith({ 'users.sql': voided, ...others })
      const result = await feed({ queries, feed: 'voided' })
      if (result.loaded) throw new Error('it was loaded')
      return result.problems.map(({ reason }) => reason.replaceAll(/\d+/g, 'N'))
    }
    expect(await reasonsOf({ ...only, 'assessments.sql': undefined })).toEqual([
      'user N cannot be deleted: assessment N needs it (delete that, too, or archive the user)',
    ])
    expect(await reasonsOf({})).toContain(
      'user_id: user N is deleted by another row of users.sql (delete this, too, or archive the user)',
    )
  })

  test('refuses an invalid URL and an unusable folder, and prints nothing of the URL', async () => {
    const at = (url: string) => messageOf(round(database.sql, url))
    expect(await at('mysql://u:geheim@h/d')).toBe(
      'the URL of the platform must be postgres://user:password@host:port/name',
    )
    expect(await at('postgres://u:geheim@127.0.0.1:1/d')).toBe(
      `cannot reach the platform: nothing listens there: is Postgres running, and are host and port of the URL of the platform right? Then check it by ${CHECK}`,
    )
    const wrong = new URL(platform.url)
    wrong.password = 'geheim'
    expect(await at(wrong.href)).toBe(
      `cannot reach the platform: it refuses the user or password in the URL of the platform: correct it there, then check it by ${CHECK}`,
    )
    const nowhere = new URL(platform.url)
    nowhere.pathname = '/nowhere'
    expect(await at(nowhere.href)).toBe(
      `cannot reach the platform: it has no database of the name in the URL of the platform: correct the name there, then check it by ${CHECK}`,
    )
    expect(() => readQueries('/nowhere')).toThrow('--queries names /nowhere, which cannot be read')
    const none = folderOf({ 'a.sql': '' })
    expect(() => readQueries(none)).toThrow('has none of organizations.sql, products.sql')
  })
})

describe('the platform of a feed', () => {
  const database = useDatabase()
  const platform = usePlatform()

  test('is read in one snapshot by a role that may only read', async () => {
    const { sql } = platform
    await sql`drop role if exists axport_reads`
    await sql`create role axport_reads login password 'reads'`
    await sql`grant select on all tables in schema public to axport_reads`
    const url = new URL(platform.url)
    url.username = 'axport_reads'
    url.password = 'reads'
    const queries = queriesWith({
      'users.sql': usersQuery('where pg_advisory_xact_lock_shared(42) is not null'),
    })
    const session = await sql.reserve()
    await session`select pg_advisory_lock(42)`
    const loading = round(database.sql, url.href, { queries })
    await until('the people are read', async () => {
      const { count } = await sql`
        select from pg_stat_activity where usename = 'axport_reads' and wait_event = 'advisory'`
      return count > 0
    })
    await sql`insert into people (person_no, given, family) values (900, 'New', 'Person')`
    await sql`
      insert into observations (observation_no, district_no, rubric_no, teacher_no, state, finished_at)
      values (90000, 1, 1, 900, 'complete', now())`
    await sql`
      insert into stages (stage_no, observation_no, rank, label, observer_no, seen_at)
      values (90001, 90000, 1, 'v', 900, now())`
    await session`select pg_advisory_unlock(42)`
    session.release()
    expect(await loading).toMatchObject({ loaded: true })
    expect(await idsOf(database.sql, 'assessments')).not.toContain(90_000)
    expect(await round(database.sql, url.href, { queries })).toMatchObject({
      summary: { users: { inserted: 1 }, assessments: { inserted: 1 } },
    })
    await sql`drop owned by axport_reads`
    await sql`drop role axport_reads`
  })
})
