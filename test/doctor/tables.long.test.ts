import { describe, expect, test } from 'bun:test'
import { openDatabase } from '../../src/database/database.ts'
import { grantFor, SERVE } from '../../src/database/grants.ts'
import { whatHidesRows } from '../../src/doctor/tables.ts'
import { badFindings, detailOf, useHealthyDatabases } from '../support/doctor.ts'
import { axport, errorLine } from '../support/executable.ts'
import { useRoles } from '../support/roles.ts'

const newHealthyDatabase = useHealthyDatabases()
const newRole = useRoles()

/** The statement at the end of a finding. */
const adviceOf = (finding = '') => /: ([^:]*)$/.exec(finding)?.[1] ?? 'no advice'

describe('axport doctor reports', () => {
  test('row level security of a table, also as the owner, and the advised statement ends that', async () => {
    const { sql, url } = await newHealthyDatabase()
    const role = await newRole()
    await grantFor(sql, role.name, SERVE)
    await sql`alter table export_records enable row level security`
    const finding =
      'tables: wrong, row level security hides rows of export_records from some roles, and fails their statements: ' +
      'alter table public.export_records disable row level security'
    expect(await badFindings(url)).toEqual([finding])
    const asRole = await badFindings(role.url(url))
    expect(asRole).toContain(finding)
    expect(asRole.filter(found => found.includes('wrong'))).toEqual([finding])
    const env = { DATABASE_URL: role.url(url), PORT: '0' }
    expect(errorLine(await axport(['serve', '--check'], { env }), 1)).toBe(finding.replace(' wrong,', ''))
    await sql.unsafe(adviceOf(finding))
    expect(await badFindings(url)).toEqual([])
    await sql.unsafe(`drop owned by ${role.name}`)
  })

  test('row level security of the record of migrations, and runs all other checks but that about it', async () => {
    const { sql, url } = await newHealthyDatabase()
    const role = await newRole()
    await grantFor(sql, role.name, SERVE)
    await sql`alter table schema_migrations enable row level security`
    expect(await badFindings(role.url(url))).toEqual([
      expect.stringMatching(/^tables: wrong, row level security hides rows of schema_migrations/),
      'schema: skipped, row level security refuses to answer this: see tables',
      'triggers: skipped, row level security refuses to answer this: see tables',
      expect.stringMatching(/^export: skipped, this role may not look/),
    ])
    await sql.unsafe(`drop owned by ${role.name}`)
  })

  test('a rule on a table or a view, and the advised statement ends that', async () => {
    const { sql, url } = await newHealthyDatabase()
    await sql.unsafe(`
      create rule "no writes" as on update to users do instead nothing;
      create rule silent as on delete to live_tokens do instead nothing`)
    const findings = await badFindings(url)
    expect(findings).toEqual([
      'tables: wrong, the rule silent changes what statements do with live_tokens: drop rule silent on public.live_tokens',
      'tables: wrong, the rule "no writes" changes what statements do with users: drop rule "no writes" on public.users',
    ])
    for (const finding of findings) await sql.unsafe(adviceOf(finding))
    expect(await badFindings(url)).toEqual([])
  })

  test('a table or a view that comes earlier in the search_path, before it blames anything else', async () => {
    const { sql, url } = await newHealthyDatabase()
    await sql.unsafe(`
      create schema earlier;
      create table earlier.schema_migrations (name text);
      create view earlier.export_records as select 1 as id`)
    await sql.unsafe(`alter database ${new URL(url).pathname.slice(1)} set search_path = earlier, public`)
    const [record, migrations] = await badFindings(url)
    expect([record, migrations]).toEqual(
      ['export_records', 'schema_migrations'].map(
        name =>
          `tables: wrong, earlier.${name} comes before public.${name} in the search_path of this role, and is used ` +
          `instead: rename or drop earlier.${name}`,
      ),
    )
    await sql`drop schema earlier cascade`
    expect(await badFindings(url)).toEqual([])
  })

  test('a temporary table of its session, which a pooler may have kept', async () => {
    const { sql } = await newHealthyDatabase()
    await sql`create temporary table export_records (id bigint)`
    expect(await whatHidesRows(sql)).toEqual([
      {
        status: 'wrong',
        detail: expect.stringMatching(/^pg_temp_\d+\.export_records comes before public\.export_records /),
      },
    ])
  })

  test('a session of a role that did not get row_security = off, as behind a pooler', async () => {
    const { sql, url } = await newHealthyDatabase()
    const role = await newRole()
    await grantFor(sql, role.name, SERVE)
    await sql.unsafe(
      `alter role ${role.name} in database ${new URL(url).pathname.slice(1)} reset row_security`,
    )
    expect(await detailOf(role.url(url), 'tables')).toBe('nothing hides or changes their rows')
    const opened = await openDatabase(role.url(url), 1)
    await opened.sql`set row_security = on`
    const [finding] = await whatHidesRows(opened.sql).finally(() => opened.close())
    expect(finding).toEqual({
      status: 'warning',
      detail:
        `a pooler does not pass row_security = off on, so that row level security could hide rows from ${role.name} one day: ` +
        `alter role ${role.name} set row_security = off`,
    })
    await sql.unsafe(`drop owned by ${role.name}`)
  })

  test('nothing of row_security to the owner, who sees all rows', async () => {
    const { sql } = await newHealthyDatabase()
    await sql`set row_security = on`
    expect(await whatHidesRows(sql)).toEqual([
      { status: 'ok', detail: 'nothing hides or changes their rows' },
    ])
  })
})
