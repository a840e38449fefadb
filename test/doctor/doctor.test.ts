import { afterAll, describe, expect, test } from 'bun:test'
import { grantFor, LOAD } from '../../src/database/grants.ts'
import { MIGRATIONS } from '../../src/database/migrations.ts'
import type { Finding } from '../../src/doctor/answer.ts'
import { emptyDatabase } from '../support/cluster.ts'
import { badFindings, CHECKS, detailOf, diagnose, useHealthyDatabases } from '../support/doctor.ts'
import { axport, cleanUp } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { everything } from '../support/import.ts'
import { succeed } from '../support/operator.ts'
import { useRoles } from '../support/roles.ts'
import { openTestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'

afterAll(cleanUp)
const newHealthyDatabase = useHealthyDatabases()
const newRole = useRoles()

describe('axport doctor on a healthy database', () => {
  test('prints a table in which everything is ok, and exits with 0', async () => {
    const { url } = await newHealthyDatabase()
    const { code, stdout, stderr } = await axport(['doctor'], { env: { DATABASE_URL: url } })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const [heading, ...lines] = stdout.trimEnd().split('\n')
    expect(heading).toMatch(/^check +status +detail$/)
    expect(lines.map(line => /^(.+?) {2,}ok {2,}\S/.exec(line)?.[1])).toEqual(CHECKS)
  })

  test('prints with --json an array of objects with check, status and detail, and the same with --full', async () => {
    const { url } = await newHealthyDatabase()
    for (const options of [[], ['--full']]) {
      const env = { DATABASE_URL: url }
      const { code, stdout, stderr } = await axport(['doctor', '--json', ...options], { env })
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      const findings = JSON.parse(stdout) as Finding[]
      expect(findings.map(finding => Object.keys(finding))).toEqual(
        CHECKS.map(() => ['check', 'status', 'detail']),
      )
      expect(findings.map(({ check, status }) => [check, status])).toEqual(CHECKS.map(name => [name, 'ok']))
    }
  })

  test('says how many records it compared and which time zone it found, and changes nothing', async () => {
    const { sql, url } = await newHealthyDatabase()
    await succeed(url, 'migrate', '--time-zone', 'America/Chicago')
    const before = await everything(sql)
    for (const options of [[], ['--full']])
      expect(await detailOf(url, 'export', ...options)).toBe('all 3 records, equal to their source')
    expect(await detailOf(url, 'time zone')).toBe('America/Chicago')
    expect(await everything(sql)).toEqual(before)
  })

  test('says when the last import was', async () => {
    const { sql, url } = await newHealthyDatabase()
    await sql`update export_state set last_import_at = now() - interval '26 hours 5 minutes'`
    expect(await detailOf(url, 'last load')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ, 1 day 02:05:00 ago$/)
  })

  test('finds nothing wrong with a database that has no data yet', async () => {
    const { url, close } = await openTestDatabase()
    expect(await badFindings(url)).toEqual([])
    expect(await detailOf(url, 'last load')).toBe('none yet by axport import')
    await close()
  })
})

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
    await succeed(url, 'migrate')
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

  test('a server that is too old, where the questions end, and a wrong clock', async () => {
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

  test('a table that another session locks, within seconds, and answers the other questions', async () => {
    const { sql, url } = await newHealthyDatabase()
    await sql.begin(async lock => {
      await lock`lock table users in access exclusive mode`
      expect(await badFindings(url)).toEqual([
        'export: wrong, another session locks a table: end that session, which pg_locks shows, and try again',
      ])
    })
  })

  test('a question that Postgres cancels, as one finding among the others', async () => {
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

  test('a question that calls a function which was revoked, as one that this role may not ask', async () => {
    const { sql, url } = await newHealthyDatabase()
    const loader = await newRole()
    await grantFor(sql, loader.name, LOAD)
    await sql`revoke execute on function search_folded(text) from public`
    expect(await badFindings(loader.url(url))).toContain(
      'export: skipped, this role may not look (permission denied for function search_folded): run doctor as the owner of the tables',
    )
  })
})
