import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openDatabase } from '../../src/database/database.ts'
import { axport, cleanUp } from '../support/executable.ts'
import { assessment, educator, multiPart, ndjsonOf, organization, removal } from '../support/fixtures.ts'
import { idsOf, staleRecords } from '../support/import.ts'
import { openWorld, refusal, succeed } from '../support/operator.ts'
import { openPlatform, round } from '../support/platform-example.ts'
import { queriesWith } from '../support/platform-queries.ts'
import { expectPrivileges } from '../support/privileges.ts'
import { type Role, useRoles } from '../support/roles.ts'
import type { TestDatabase } from '../support/service.ts'
import { withoutTriggers } from '../support/without-triggers.ts'

/** All privileges of a role that loads. */
const ALLOWED = [
  ...['assessment_parts', 'assessments', 'organizations', 'products', 'users'].flatMap(all),
  ...['export_people', 'export_products', 'export_records'].flatMap(all),
  'execute analyze_table(text)',
  'execute refresh_export_counts(bigint[])',
  'execute renew_export_version()',
  'insert feeds',
  'select erasures',
  'select export_counts',
  'select export_people_rendered',
  'select export_products_rendered',
  'select export_records_rendered',
  'select export_state',
  'select feeds',
  'select removals',
  'select schema_migrations',
  'update export_state',
  'update feeds',
  'update removals',
]

function all(table: string): string[] {
  return ['delete', 'insert', 'select', 'update'].map(privilege => `${privilege} ${table}`)
}

let database: TestDatabase
let role: Role
afterAll(async () => {
  await cleanUp()
  await database.close()
})
const newRole = useRoles()
beforeAll(async () => {
  database = await openWorld()
  role = await newRole()
  await succeed(database.url, 'migrate', '--grant-loader', role.name)
})

describe('a role with the grants for import', () => {
  test('has exactly these privileges in the schema', async () => {
    await expectPrivileges(database.sql, role.name, 'load.sql', ALLOWED)
  })

  test.each([
    'select from integrations',
    'select from integration_secrets',
    'select from access_tokens',
    'select from live_tokens',
    'select from disclosures',
    'delete from erasures',
    'create table mine ()',
    'alter table users disable trigger user',
  ])('cannot do what a load does not do: %s', async statement => {
    const opened = await openDatabase(role.url(database.url), 1)
    const code = await opened.sql.unsafe(statement).catch(error => error.code)
    await opened.close()
    expect(code).toBe('42501')
  })

  test('can import new lines, changed lines and removals, and the records follow', async () => {
    const lines = [
      organization(10, 'Renamed'),
      educator(501, { name: 'Eva' }),
      removal('assessment', 9001),
      multiPart(9100, [9101, 9102]),
      assessment(9003),
    ]
    const env = { DATABASE_URL: role.url(database.url) }
    const { code, stderr } = await axport(['import', '-'], { env, stdin: { text: ndjsonOf(lines) } })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(await idsOf(database.sql, 'export_records')).toEqual([9002, 9003, 9100])
    expect(await staleRecords(database.sql)).toBeEmpty()
  })

  test('can load the rounds of a feed, also one that leaves rows out', async () => {
    const platform = await openPlatform()
    const opened = await openDatabase(role.url(database.url), 1)
    const queries = queriesWith({
      'organizations.sql': `
        select 900000 + district_no as id, nullif(title, 'none') as name from districts
        where changed_at >= current_setting('axport.since')::timestamptz`,
      'users.sql': undefined,
      'products.sql': undefined,
      'assessments.sql': undefined,
      'assessment_parts.sql': undefined,
    })
    const feed = () => round(opened.sql, platform.url, { queries, overlapSeconds: 0 }, { onReject: () => {} })
    try {
      await platform.sql`update districts set title = 'none' where district_no = 3`
      expect(await feed()).toMatchObject({ loaded: true, rejected: 1 })
      expect(await feed()).toMatchObject({ loaded: true, rejected: 1 })
      await platform.sql`update districts set title = 'mended' where district_no = 3`
      expect(await feed()).toMatchObject({ loaded: true, rejected: 0 })
    } finally {
      await opened.close()
      await platform.close()
    }
  })

  test('can refresh the records after writes without triggers', async () => {
    await withoutTriggers(
      database.sql,
      `update users set first_name = 'Past' where id = 501; update export_counts set records = 9`,
    )
    const refreshed = await succeed(role.url(database.url), 'refresh', '--json')
    expect(JSON.parse(refreshed)).toMatchObject({ records: 3, people: 1 })
    expect(await staleRecords(database.sql)).toBeEmpty()
  })

  test('says after a refresh that removed an erased person that the owner has to vacuum', async () => {
    await database.sql`insert into erasures (user_id) values (502)`
    await withoutTriggers(
      database.sql,
      `insert into users (id, name, first_name, last_name, email) values (502, 'Ola', 'Ola', '', '')`,
    )
    const env = { DATABASE_URL: role.url(database.url) }
    const { code, stderr } = await axport(['refresh'], { env })
    expect(code).toBe(1)
    expect(stderr).toEndWith(
      'VACUUM failed (this role may not run it); axport refresh as the owner of the tables tries again\n',
    )
    expect(await database.sql`select from users where id = 502`).toBeEmpty()
  })

  test('cannot serve or provision: one line names the missing privilege and the command that grants it', async () => {
    const url = role.url(database.url)
    expect(await refusal(url, 'serve')).toMatch(
      new RegExp(
        `^the role ${role.name} lacks select on export_version, .* more: run axport migrate --grant ${role.name} as the owner of the tables$`,
      ),
    )
    expect(await refusal(url, 'integration', 'create', 'X')).toContain('permission denied')
  })
})
