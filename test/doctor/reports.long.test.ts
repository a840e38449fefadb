import { describe, expect, test } from 'bun:test'
import { grantFor, LOAD } from '../../src/database/grants.ts'
import { MIGRATIONS } from '../../src/database/migrations.ts'
import { emptyDatabase } from '../support/cluster.ts'
import { badFindings, detailOf, diagnose, useHealthyDatabases } from '../support/doctor.ts'
import { errorLine } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { runInProcess } from '../support/in-process.ts'
import { succeed } from '../support/operator.ts'
import { useRoles } from '../support/roles.ts'
import { until } from '../support/until.ts'
import { withConnection } from '../support/with-connection.ts'

/** The statement at the end of a finding. */
const adviceOf = (finding = '') => /: ([^:]*)$/.exec(finding)?.[1] ?? 'no advice'

const newHealthyDatabase = useHealthyDatabases()
const newRole = useRoles()

describe('axport doctor reports', () => {
  test.each([
    [{}, /^DATABASE_URL is not set: /],
    [{ DATABASE_URL: 'postgres://h/d', DATABASE_URL_FILE: 'x' }, /both set: unset/],
    [{ DATABASE_URL_FILE: '/nowhere' }, /cannot be read \(ENOENT\)$/],
    [{ DATABASE_URL: 'mysql://h/d' }, /^DATABASE_URL .*must be postgres:/],
  ] as [Record<string, string>, RegExp][])(
    'settings that do not name one database: %j',
    async (env, detail) => {
      const { findings } = await diagnose(env)
      expect(findings).toEqual([{ check: 'server', status: 'wrong', detail: expect.stringMatching(detail) }])
    },
  )

  test('a database in which transactions are read-only', async () => {
    const { sql, url } = await newHealthyDatabase()
    await sql.unsafe(
      `alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = on`,
    )
    expect(await badFindings(url)).toEqual([
      expect.stringMatching(
        /^server: warning, Postgres .* takes no writes \(default_transaction_read_only is on\): no tokens are issued/,
      ),
    ])
  })

  test('a database that cannot be reached', async () => {
    const nobody = `postgres://postgres@127.0.0.1:${await freePort()}/axport`
    expect(await badFindings(nobody)).toEqual([
      expect.stringMatching(/^server: wrong, cannot reach the database: nothing listens there/),
    ])
  })

  test('a schema that is behind, and the command to run', async () => {
    const { url, drop } = await emptyDatabase()
    const names = MIGRATIONS.map(migration => migration.name)
    const behind = `the database schema is behind by ${names.length} (${names.join(', ')}): run axport migrate`
    const { findings, line } = await diagnose({ DATABASE_URL: url })
    expect(findings.at(-1)).toEqual({ check: 'schema', status: 'wrong', detail: behind })
    expect(line).toBe('1 check found something wrong')
    // Run twice, because doctor must not change anything.
    expect(await detailOf(url, 'schema')).toBe(behind)
    await succeed(url, 'migrate', '--time-zone', 'UTC')
    expect(await badFindings(url)).toEqual([])
    await drop()
  })

  test('a schema that is ahead of this axport, or was edited, as the last finding', async () => {
    const { sql, url } = await newHealthyDatabase()
    await sql`insert into schema_migrations (name, sha256) values ('9999_of_the_future', '')`
    expect(await badFindings(url)).toEqual([expect.stringMatching(/^schema: wrong, .*9999_of_the_future/)])
    await sql`delete from schema_migrations where name = '9999_of_the_future'`
    await sql`update schema_migrations set sha256 = 'edited' where name = '0003_export'`
    expect(await badFindings(url)).toEqual([
      expect.stringMatching(/^schema: wrong, .*0003_export was edited/),
    ])
  })

  test.each([
    ['of the database', 'alter database', ''],
    ['in its URL', 'the URL', '?options=-c%20search_path%3Dnowhere'],
  ])(
    'a search_path %s that leads past the tables, as every command does, and the advice ends that',
    async (_, where, options) => {
      const { sql, url } = await newHealthyDatabase()
      const name = new URL(url).pathname.slice(1)
      if (options === '') await sql.unsafe(`alter database ${name} set search_path = nowhere`)
      const role = new URL(url).username
      const finding =
        'the search_path (nowhere) leads past the tables of axport, which are in the schema public: ' +
        (where === 'the URL'
          ? 'name public in the search_path that DATABASE_URL has in its options'
          : `alter role ${role} in database ${name} set search_path = public`)
      expect(await badFindings(url + options)).toEqual([`search path: wrong, ${finding}`])
      const env = { DATABASE_URL: url + options }
      for (const args of [
        ['migrate'],
        ['integration', 'list'],
        ['import', '/dev/null'],
        ['refresh'],
        ['serve'],
      ])
        expect(errorLine(await runInProcess(args, { ...env, PORT: '0' }), 1)).toBe(finding)
      expect(await sql`select from pg_tables where tablename = 'users'`).toHaveLength(1)
      if (options !== '')
        return expect(await badFindings(url + options.replace('nowhere', 'public'))).toEqual([])
      await sql.unsafe(adviceOf(finding))
      expect(await badFindings(url)).toEqual([])
    },
  )

  test('a schema that the role may not use', async () => {
    const { sql, url } = await newHealthyDatabase()
    const role = await newRole()
    const name = new URL(url).pathname.slice(1)
    await grantFor(sql, role.name, LOAD)
    await sql.unsafe(`
      alter schema public rename to app; create schema public; grant usage on schema public to public;
      alter database ${name} set search_path = app, public; revoke usage on schema app from public, ${role.name}`)
    expect(await badFindings(role.url(url))).toEqual([
      `search path: wrong, the role ${role.name} may not use the schema app, where the tables of axport are: the owner of ` +
        `the tables allows it by axport migrate --grant ${role.name}, or --grant-loader`,
    ])
    await succeed(url, 'migrate', '--grant-loader', role.name)
    expect(await detailOf(role.url(url), 'search path')).toBe('leads to the schema app')
    await sql.unsafe(`drop owned by ${role.name}`)
  })

  test('collations of another version than the server has, and the advice ends that', async () => {
    const { url, drop } = await emptyDatabase(`locale_provider icu icu_locale 'en'`)
    await succeed(url, 'migrate', '--time-zone', 'UTC')
    const name = new URL(url).pathname.slice(1)
    await withConnection(url, async sql => {
      await sql`update pg_database set datcollversion = '1.0' where datname = ${name}`
      await sql`update pg_collation set collversion = '2.0' where collname = 'und-x-icu'`
      const findings = await badFindings(url)
      expect(findings).toEqual([
        expect.stringMatching(
          /^collations: wrong, the database was made with version 1\.0 of its collation, and the server has [\d.]+, so that/,
        ),
        expect.stringMatching(
          /^collations: wrong, the records were sorted by version 2\.0 of pg_catalog\."und-x-icu", and the server has [\d.]+: axport refresh, and then/,
        ),
      ])
      expect(findings[0]).toEndWith(
        `: reindex index concurrently public.export_people_names_key; alter database ${name} refresh collation version`,
      )
      for (const statement of [
        ...adviceOf(findings[0]).split('; '),
        adviceOf(findings[1]).replace(/^.*, alter/, 'alter'),
      ])
        await sql.unsafe(statement)
      expect(await badFindings(url)).toEqual([])
    })
    await drop()
  })

  test('a server that is too old, where the checks end, and a wrong clock', async () => {
    const { sql, url } = await newHealthyDatabase()
    const name = new URL(url).pathname.slice(1)
    // Functions with the same names as the server's, in a schema that search_path finds first.
    await sql.unsafe(`
      create schema pretended;
      create function pretended.clock_timestamp() returns timestamptz language sql as $$
        select pg_catalog.clock_timestamp() - interval '1 hour'
      $$`)
    await sql.unsafe(`alter database ${name} set search_path = pretended, pg_catalog, public`)
    expect((await diagnose({ DATABASE_URL: url })).findings.slice(0, 2)).toEqual([
      expect.objectContaining({ check: 'server', status: 'ok' }),
      {
        check: 'clock',
        status: 'warning',
        detail: expect.stringMatching(/^host and database differ by 3(599|600)\.\d s: synchronize both$/),
      },
    ])
    await sql.unsafe(`
      create function pretended.current_setting(text) returns text language sql as $$
        select case $1
          when 'server_version_num' then '140011' when 'server_version' then '14.11' else pg_catalog.current_setting($1)
        end
      $$`)
    expect(await badFindings(url)).toEqual([
      expect.stringMatching(
        /^server: wrong, Postgres 14.11 at 127.0.0.1 port \d+: axport needs 15 or newer$/,
      ),
    ])
  })

  test('a missing time zone, and the advice restores it', async () => {
    const { sql, url } = await newHealthyDatabase()
    await sql`delete from export_state`
    const [finding = ''] = await badFindings(url)
    expect(finding).toStartWith(
      'time zone: wrong, export_state is empty, its one row was deleted: insert into ',
    )
    await sql.unsafe(/deleted: (insert .*), then/.exec(finding)?.[1] ?? 'no advice')
    await succeed(url, 'migrate', '--time-zone', 'UTC')
    expect(await badFindings(url)).toEqual([])
  })

  test('a table that another session locks, within seconds, and runs the other checks', async () => {
    const { sql, url } = await newHealthyDatabase()
    await sql.begin(async lock => {
      await lock`lock table users in access exclusive mode`
      expect(await badFindings(url)).toEqual([
        'export: wrong, another session locks a table: end that session, which pg_locks shows, and try again',
      ])
    })
  })

  test('a check that Postgres cancels, as one finding among the others', async () => {
    const { sql, url } = await newHealthyDatabase()
    await sql.begin(async lock => {
      await lock`lock table users in access exclusive mode`
      const findings = badFindings(url, '--full')
      let isDone = false
      findings.finally(() => (isDone = true)).catch(() => {})
      await until('its statement has waited', async () => {
        await lock`select pg_cancel_backend(pid) from pg_locks where not granted`
        return isDone
      })
      expect(await findings).toEqual([
        'export: wrong, the database refused: canceling statement due to user request (SQLSTATE 57014)',
      ])
    })
  })

  test('a check that calls a function which was revoked, as one that this role may not run', async () => {
    const { sql, url } = await newHealthyDatabase()
    const loader = await newRole()
    await grantFor(sql, loader.name, LOAD)
    await sql`revoke execute on function search_folded(text) from public`
    expect(await badFindings(loader.url(url))).toContain(
      'export: skipped, this role may not look (permission denied for function search_folded): run doctor as the owner of the tables',
    )
  })
})
