import { afterAll, describe, expect, test } from 'bun:test'
import postgres from 'postgres'
import type { Finding } from '../../src/doctor/finding.ts'
import { grantFor } from '../../src/postgres/privileges/grant.ts'
import { LOAD } from '../../src/postgres/privileges/purposes.ts'
import { MIGRATIONS } from '../../src/postgres/schema/migrations.ts'
import { emptyDatabase } from '../support/cluster.ts'
import { record } from '../support/disclosures.ts'
import { badFindings, CHECKS, detailOf, diagnose, useHealthyDatabases } from '../support/doctor.ts'
import { axport, cleanUp, errorLine } from '../support/executable.ts'
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
      expect(await detailOf(url, 'read model', ...options)).toBe('all 3 records, equal to their source')
    expect(await detailOf(url, 'time zone')).toBe('America/Chicago')
    expect(await everything(sql)).toEqual(before)
  })

  test('says when the last import was', async () => {
    const { sql, url } = await newHealthyDatabase()
    await sql`update export_state set last_import_at = now() - interval '26 hours 5 minutes'`
    expect(await detailOf(url, 'last import')).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ, 1 day 02:05:00 ago$/,
    )
  })

  test('finds nothing wrong with a database that has no data yet', async () => {
    const { url, close } = await openTestDatabase()
    expect(await badFindings(url)).toEqual([])
    expect(await detailOf(url, 'last import')).toBe('none yet by axport import')
    await close()
  })
})

describe('axport doctor reports', () => {
  test('all invalid settings at once, and ends there', async () => {
    const wrong = { DATABASE_URL: 'postgres://127.0.0.1/x', PORT: '70000', LOG_LEVEL: 'loud' }
    const { findings, line } = await diagnose(wrong)
    expect(line).toBe('1 check found something wrong')
    expect(findings).toEqual([
      {
        check: 'settings',
        status: 'wrong',
        detail: expect.stringMatching(/^PORT must be .*; LOG_LEVEL must be /),
      },
    ])
  })

  test.each([
    [{}, /^DATABASE_URL is not set: /],
    [{ DATABASE_URL: 'postgres://h/d', DATABASE_URL_FILE: 'x' }, /both set: unset/],
    [{ DATABASE_URL_FILE: '/nowhere' }, /cannot be read \(ENOENT\)$/],
    [{ DATABASE_URL: 'mysql://h/d' }, /^DATABASE_URL .*must be postgres:/],
  ] as [Record<string, string>, RegExp][])(
    'settings that do not name one database: %j',
    async (env, detail) => {
      const last = (await diagnose(env)).findings.at(-1)
      expect(last).toMatchObject({ status: 'wrong', detail: expect.stringMatching(detail) })
    },
  )

  test.each([
    [{ TLS_CERT_FILE: 'tls.crt' }, /^TLS_KEY_FILE is not set: set both/],
    [{ TLS_CERT_FILE: '/nowhere', TLS_KEY_FILE: '/nowhere' }, /\/nowhere/],
  ] as [Record<string, string>, RegExp][])(
    'settings that serve refuses, with the same words: %j',
    async (settings, expected) => {
      const env = { DATABASE_URL: (await newHealthyDatabase()).url, ...settings }
      const { findings } = await diagnose(env)
      expect(findings.map(({ check, status }) => [check, status])).toEqual([['settings', 'wrong']])
      const detail = findings[0]?.detail ?? ''
      expect(detail).toMatch(expected)
      expect(errorLine(await axport(['serve'], { env }), 1)).toBe(detail)
    },
  )

  test('a max_connections that is too small for the processes', async () => {
    const { url } = await newHealthyDatabase()
    const room = (poolSize: number) => diagnose({ DATABASE_URL: url, DATABASE_POOL_SIZE: String(poolSize) })
    const detail = (processes: string, size: number) =>
      `max_connections is 200, 3 of them reserved: room for ${processes} with DATABASE_POOL_SIZE ${size} and one connection more`
    expect((await room(10)).findings).toContainEqual({
      check: 'connections',
      status: 'ok',
      detail: detail('17 processes', 10),
    })
    expect((await room(197)).findings).toContainEqual({
      check: 'connections',
      status: 'warning',
      detail: `${detail('0 processes', 197)}: lower it, or raise max_connections`,
    })
  })

  test('a read-only database', async () => {
    const { sql, url } = await newHealthyDatabase()
    await sql.unsafe(
      `alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = on`,
    )
    expect(await badFindings(url)).toEqual([
      expect.stringMatching(
        /^writes: warning, none, default_transaction_read_only is on: pages are answered/,
      ),
    ])
    // The connection of this test is still one that writes.
    await record(sql)
    expect(await badFindings(url)).toEqual([
      expect.stringMatching(
        /^writes: wrong, none, default_transaction_read_only is on: .* no pages are answered/,
      ),
    ])
  })

  test('a lock for which pages wait, ends there, and the advised statement ends the lock', async () => {
    const { sql, url } = await newHealthyDatabase()
    const other = postgres(url, { max: 1, onnotice: () => {} })
    const holder = await other.reserve()
    const [{ pid } = { pid: 0 }] = await holder`select pg_backend_pid() as pid`
    await holder`begin`
    await holder`lock table export_people, integrations in access exclusive mode`
    const { findings } = await diagnose({ DATABASE_URL: url })
    expect(findings.at(-1)).toEqual({
      check: 'locks',
      status: 'wrong',
      detail:
        `pages wait for process ${pid} of role postgres, which locks export_people, integrations: ` +
        `end its transaction, or select pg_terminate_backend(${pid})`,
    })
    await sql.unsafe(/or (select pg_terminate.*)$/.exec(findings.at(-1)?.detail ?? '')?.[1] ?? 'no advice')
    await other.end({ timeout: 0 })
    expect(await badFindings(url)).toEqual([])
  })

  test('a lock that stops what requests write, and one for which another session has to end first', async () => {
    const { url } = await newHealthyDatabase()
    const [writer, own, migration] = [{}, { application_name: 'axport' }, {}].map(connection =>
      postgres(url, { max: 1, onnotice: () => {}, connection }),
    ) as [postgres.Sql, postgres.Sql, postgres.Sql]
    const pidOf = async (sql: postgres.Sql) => (await sql`select pg_backend_pid() as pid`)[0]?.pid as number
    const last = async () =>
      (await diagnose({ DATABASE_URL: url })).findings.find(({ check }) => check === 'locks')
    await own.begin(async sql => {
      await sql`lock table disclosures in share mode`
      const detail = expect.stringMatching(/which locks disclosures: a command of axport, wait for its end$/)
      expect(await last()).toEqual({ check: 'locks', status: 'warning', detail })
    })
    const [first, second] = [await pidOf(writer), await pidOf(migration)]
    let altered: Promise<unknown> = Promise.resolve()
    await writer.begin(async sql => {
      await sql`select from export_records`
      altered = migration.begin(change => change`lock table export_records in access exclusive mode`)
      const waits = new RegExp(
        `process ${second} .* is to lock export_records: .*pg_terminate_backend\\(${first}\\)$`,
      )
      await until('it waits', async () => waits.test((await last())?.detail ?? ''))
    })
    await altered
    for (const sql of [writer, own, migration]) await sql.end()
  })

  test('that Postgres logs the values of statements, and the advised command ends that', async () => {
    const { sql, url } = await newHealthyDatabase()
    const name = new URL(url).pathname.slice(1)
    for (const [cause, value] of [
      ['log_statement', 'ALL'],
      ['log_min_duration_statement', '1s'],
      ['log_min_duration_sample', '1s'],
      ['log_transaction_sample_rate', '0.5'],
      ['log_parameter_max_length_on_error', '-1'],
    ]) {
      await sql.unsafe(`alter database ${name} set ${cause} = '${value}'`)
      const [finding, ...others] = await badFindings(url)
      expect(finding).toStartWith('values in the log: warning, Postgres writes searches, ')
      expect(finding).toContain(`(${cause})`)
      expect(others).toEqual([])
      await sql.unsafe(/As a superuser: (.*)$/.exec(finding ?? '')?.[1] ?? 'no advice')
      expect(await badFindings(url)).toEqual([])
      await sql.unsafe(`alter database ${name} reset all`)
    }
    // The text of a definition has no values.
    await sql.unsafe(`alter database ${name} set log_statement = 'ddl'`)
    expect(await badFindings(url)).toEqual([])
  })

  test('that Postgres logs the values of another role with privileges here, as its own settings say', async () => {
    const { sql, url } = await newHealthyDatabase()
    const name = new URL(url).pathname.slice(1)
    const [serving, stranger] = [await newRole(), await newRole()]
    await succeed(url, 'migrate', '--grant', serving.name)
    for (const role of [serving, stranger])
      await sql.unsafe(`alter role ${role.name} set log_statement = 'ALL'`)
    // A superuser has every privilege, and is not meant.
    await sql.unsafe(`alter role ${stranger.name} superuser`)
    const why = `Postgres writes searches, seids and imported rows into its log (log_statement of role ${serving.name})`
    const remedy = `alter role ${serving.name} in database ${name} set log_parameter_max_length = 0`
    const finding = `values in the log: warning, ${why}. As a superuser: ${remedy}`
    expect(await badFindings(url)).toEqual([finding])
    // As that role itself, whose other checks differ.
    const ofRole = serving.url(url)
    expect(await detailOf(ofRole, 'values in the log')).toBe(`${why}. As a superuser: ${remedy}`)
    await sql.unsafe(remedy)
    expect(await badFindings(url)).toEqual([])
    expect(await detailOf(ofRole, 'values in the log')).toBe(
      "Postgres writes none of this role's statements; of others it is not known, because this role has settings of its own",
    )
    await sql.unsafe(`alter role ${serving.name} in database ${name} set log_parameter_max_length = -1`)
    await sql.unsafe(`alter database ${name} set log_parameter_max_length = 0`)
    expect(await badFindings(url)).toEqual([finding])
    await sql.unsafe(`alter role ${serving.name} in database ${name} reset all`)
    await sql.unsafe(`drop owned by ${serving.name}`)
  })

  test('that Postgres logs values by the setting of the database, once for all roles', async () => {
    const { sql, url } = await newHealthyDatabase()
    const name = new URL(url).pathname.slice(1)
    const serving = await newRole()
    await succeed(url, 'migrate', '--grant', serving.name)
    await sql.unsafe(`alter role ${serving.name} set log_statement = 'none'`)
    await sql.unsafe(`alter database ${name} set log_min_duration_statement = '1s'`)
    const finding =
      'values in the log: warning, Postgres writes searches, seids and imported rows into its log ' +
      `(log_min_duration_statement). As a superuser: alter database ${name} set log_parameter_max_length = 0`
    expect(await badFindings(url)).toEqual([finding])
    await sql.unsafe(`drop owned by ${serving.name}`)
  })

  test('a database that cannot be reached', async () => {
    const nobody = `postgres://postgres@127.0.0.1:${await freePort()}/axport`
    expect(await badFindings(nobody)).toEqual([
      expect.stringMatching(/^database: wrong, cannot reach the database: nothing listens there/),
    ])
  })

  test('a schema that is behind, and the command to run', async () => {
    const { url, drop } = await emptyDatabase()
    const names = MIGRATIONS.map(migration => migration.name)
    const behind = `the database schema is behind by ${names.length} (${names.join(', ')}): run axport migrate`
    const { findings, line } = await diagnose({ DATABASE_URL: url })
    const wrong = findings.filter(({ status }) => status === 'wrong')
    expect(wrong.map(({ check }) => check)).toEqual(['extensions', 'schema'])
    expect(wrong[1]?.detail).toBe(behind)
    expect(line).toBe('2 checks found something wrong')
    // Run twice, because doctor must not change anything.
    expect(await detailOf(url, 'schema')).toBe(behind)
    await succeed(url, 'migrate')
    expect(await badFindings(url)).toEqual([])
    await drop()
  })

  test('a schema that is ahead of this axport, or was edited, as one finding among the others', async () => {
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
    [
      'a missing extension, with which its index was dropped',
      'drop extension pg_trgm cascade',
      'extensions: wrong, pg_trgm is missing: ',
    ],
    [
      'a missing index and an invalid index',
      `drop index export_records_seid;
       update pg_index set indisvalid = false where indexrelid = 'export_people_names_key'::regclass`,
      'schema: wrong, an index is missing or not valid',
    ],
  ])('%s, and the advised commands repair it', async (_, damage, expected) => {
    const { sql, url } = await newHealthyDatabase()
    await sql.unsafe(damage)
    const findings = await badFindings(url)
    expect(findings[0]).toStartWith(expected)
    for (const finding of findings)
      await sql.unsafe(/(?:is missing|slow): (.*)$/s.exec(finding)?.[1] ?? 'no advice')
    expect(await badFindings(url)).toEqual([])
  })

  test('a server that is too old, a wrong encoding, and a wrong clock', async () => {
    const { sql, url } = await newHealthyDatabase()
    // Functions with the same names as the server's, in a schema that search_path finds first.
    await sql.unsafe(`
      create schema pretended;
      create function pretended.current_setting(text) returns text language sql as $$
        select case $1
          when 'server_version_num' then '140011' when 'server_version' then '14.11'
          when 'server_encoding' then 'LATIN1' else pg_catalog.current_setting($1)
        end
      $$;
      create function pretended.clock_timestamp() returns timestamptz language sql as $$
        select pg_catalog.clock_timestamp() - interval '1 hour'
      $$`)
    await sql.unsafe(
      `alter database ${new URL(url).pathname.slice(1)} set search_path = pretended, pg_catalog, public`,
    )
    expect(await badFindings(url)).toEqual([
      'version: wrong, Postgres 14.11: axport needs 15 or newer',
      'encoding: wrong, LATIN1: axport needs a database with encoding UTF8',
      expect.stringMatching(
        /^clock: warning, host and database differ by 3(599|600)\.\d s: synchronize both$/,
      ),
    ])
  })

  test('a missing time zone', async () => {
    const { sql, url } = await newHealthyDatabase()
    await sql`delete from export_state`
    expect(await badFindings(url)).toContain(
      'time zone: wrong, export_state is empty: its one row was deleted',
    )
  })

  test('a check that Postgres cancels, as one finding among the others', async () => {
    const { sql, url } = await newHealthyDatabase()
    await sql.begin(async lock => {
      await lock`lock table users in access exclusive mode`
      const findings = badFindings(url, '--full')
      let isDone = false
      findings.finally(() => (isDone = true)).catch(() => {})
      // Both checks that read users.
      await until('its statements have waited', async () => {
        await lock`select pg_cancel_backend(pid) from pg_locks where not granted`
        return isDone
      })
      const cancelled = 'the database refused: canceling statement due to user request (SQLSTATE 57014)'
      expect(await findings).toEqual([`read model: wrong, ${cancelled}`, `erasures: wrong, ${cancelled}`])
    })
  })

  test('a check that calls a function which was revoked, as one finding among the others', async () => {
    const { sql, url } = await newHealthyDatabase()
    const loader = await newRole()
    await grantFor(sql, loader.name, LOAD)
    await sql`revoke execute on function search_folded(text) from public`
    const findings = (await badFindings(loader.url(url))).filter(finding => !/: skipped, /.test(finding))
    expect(findings).toEqual([
      expect.stringMatching(
        /^read model: wrong, .* permission denied for function search_folded .* as the owner/,
      ),
    ])
  })
})
