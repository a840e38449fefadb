import { beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Sql } from 'postgres'
import { startPurging } from '../../src/cli/purge.ts'
import { openDatabase } from '../../src/database/database.ts'
import { missingPrivileges, SERVE } from '../../src/database/grants.ts'
import { tryRecording } from '../../src/disclosures/record.ts'
import { tryIssuing } from '../../src/oauth/tokens.ts'
import { purgeDisclosures, setDisclosureState } from '../../src/tables/disclosure-state.ts'
import { serve } from '../support/executable.ts'
import { postToken } from '../support/http.ts'
import { getList, ids, LIST, newToken, provision, refusal, succeed } from '../support/operator.ts'
import { privilegesOf } from '../support/privileges.ts'
import { program, requires } from '../support/requires.ts'
import { quoted, type Role } from '../support/roles.ts'
import { firstToken, serveWith } from '../support/served.ts'
import { until } from '../support/until.ts'
import { SERVE_PRIVILEGES, useServeGrants } from './serve-grants.ts'

const { database, newRole, migrateGrant, expectAllowed } = useServeGrants()

async function asRole<T>(role: Role, work: (sql: Sql) => Promise<T>): Promise<T> {
  const opened = await openDatabase(role.url(database.url), 2)
  return await work(opened.sql).finally(() => opened.close())
}

describe('a role with the grants for serve', () => {
  let role: Role
  beforeAll(async () => {
    role = await newRole()
    await migrateGrant(role.name)
  })

  test('has exactly these privileges in the schema', async () => {
    await expectAllowed(role)
  })

  test('can serve tokens, the list and single records, and records the use of tokens', async () => {
    const credentials = await provision(database.sql)
    const service = await serveWith([], { DATABASE_URL: role.url(database.url) })
    const token = await firstToken(service.url, credentials)
    expect(ids(await getList(service.url, token))).toEqual([9001, 9002, 9003])
    const headers = { authorization: `Bearer ${token}` }
    const record = await fetch(`${service.url}${LIST}/9002`, { headers })
    expect(await record.json()).toMatchObject({ id: 9002, name: 'Ana Ruiz', organization_name: 'Oak Valley' })
    const query = 'sort=user_name&filter[search]=reading&filter[user_record_status][]=active'
    const filtered = await fetch(`${service.url}${LIST}?${query}`, { headers })
    expect(await filtered.json()).toMatchObject({ meta: { count: 2 } })
    const used = async () => {
      const [row] = await database.sql`
        select s.last_used_at from integration_secrets s join integrations i on i.id = s.integration_id
        where i.client_id = ${credentials.clientId}`
      return row?.last_used_at
    }
    await until('the use is noted', used)
    await postToken(service.url, { ...credentials, clientSecret: 'wrong' })
    service.signal('SIGTERM')
    expect(await service.finished).toMatchObject({ code: 0, stderr: '' })
    // A busy machine is slow.
    const complaints = service
      .log()
      .filter(({ level, msg, slow }) => level !== 30 && !slow && msg !== 'slow statement')
    expect(complaints).toEqual([])
  })

  test('can find out whether tokens and disclosures can be written, and leaves no disclosure behind', async () => {
    await provision(database.sql)
    await asRole(role, async roleSql => {
      await tryIssuing(roleSql)
      await tryRecording(roleSql)
    })
    expect((await database.sql`select from disclosures`).count).toBe(0)
  })

  test('can purge expired tokens', async () => {
    await database.sql`
      insert into access_tokens (digest, secret_id, expires_at)
      values (sha256('expired'), 1, now() - interval '2 days')`
    const warnings: object[] = []
    await asRole(role, async roleSql => {
      const log = { info: () => {}, warn: (warning: object) => warnings.push(warning) }
      const stop = startPurging(roleSql, { log, firstDelayMs: 0 })
      const left = () => database.sql`select from access_tokens where digest = sha256('expired')`
      await until('it is purged', async () => warnings.length > 0 || (await left()).length === 0)
      await stop()
    })
    expect(warnings).toEqual([])
  })

  test.each(
    [
      ...['users', 'assessments', 'assessment_parts', 'organizations', 'products', 'erasures'],
      ...['disclosures', 'integration_history'],
    ].map(table => `select from ${table}`),
  )('cannot read what serving does not need: %s', async statement => {
    expect(await asRole(role, roleSql => roleSql.unsafe(statement).catch(error => error.code))).toBe('42501')
  })

  test.each([
    `update export_records set document = '{}'`,
    'delete from export_records',
    "insert into export_people values (1, '')",
    `update export_state set time_zone = 'Asia/Tokyo'`,
    `update integrations set organization_ids = '{10}'`,
    `update integration_secrets set expires_at = null`,
    'delete from integration_secrets',
    'delete from disclosures',
    'update disclosure_state set is_on = false',
    'create table mine ()',
    'alter table export_records disable trigger user',
  ])('cannot change what serving does not change: %s', async statement => {
    expect(await asRole(role, roleSql => roleSql.unsafe(statement).catch(error => error.code))).toBe('42501')
  })

  test('sees of each secret and token its digest, and no column that has more', async () => {
    const columns = await database.sql<{ name: string }[]>`
      select c.relname || '.' || attname as name
      from pg_attribute join pg_class c on c.oid = attrelid
      where relname in ('integration_secrets', 'access_tokens', 'live_secrets', 'live_tokens') and atttypid = 'bytea'::regtype
        and attnum > 0 order by 1`
    expect(columns.map(({ name }) => name)).toEqual([
      'access_tokens.digest',
      'integration_secrets.digest',
      'live_secrets.digest',
      'live_tokens.digest',
    ])
  })

  test('serves while disclosures are recorded, and can purge them', async () => {
    const credentials = await provision(database.sql)
    await setDisclosureState(database.sql, { isOn: true, kept: '1 day' })
    try {
      const service = await serve({ DATABASE_URL: role.url(database.url) })
      const token = await firstToken(service.url, credentials)
      expect(ids(await getList(service.url, token))).toEqual([9001, 9002, 9003])
      service.signal('SIGTERM')
      expect(await service.finished).toMatchObject({ code: 0, stderr: '' })
      expect((await database.sql`select from disclosures`).count).toBe(1)
      await database.sql`update disclosures set at = now() - interval '2 days'`
      await asRole(role, purgeDisclosures)
      expect((await database.sql`select from disclosures`).count).toBe(0)
    } finally {
      await setDisclosureState(database.sql, { isOn: false })
    }
  })

  test.each(SERVE_PRIVILEGES)('without "%s" is told by serve --check what to run', async privilege => {
    const [verb = '', object = ''] = privilege.split(/ (.*)/)
    const [table = '', column] = object.split('.')
    const what =
      verb === 'execute'
        ? `execute on function ${object}`
        : `${verb}${column ? ` (${column})` : ''} on ${table}`
    await database.sql.unsafe(`revoke ${what} from ${role.name}`)
    const [missing, ...others] = await missingPrivileges(database.sql, SERVE, role.name)
    expect(missing?.replaceAll(', ', ',')).toBe(what)
    expect(others).toEqual([])
    await database.sql.unsafe(`grant ${what} to ${role.name}`)
  })

  test('cannot provision, import or migrate: one line names the missing privilege', async () => {
    const url = role.url(database.url)
    const { clientId } = await provision(database.sql)
    for (const args of [
      ['integration', 'create', 'X', '--products', '1'],
      ['integration', 'rotate', clientId],
      ['migrate', '--time-zone', 'Europe/Berlin'],
    ])
      expect(await refusal(url, ...args)).toMatch(
        /permission denied.*; run this command as the owner of the tables$/,
      )
    expect(await refusal(url, 'import', '-')).toMatch(
      new RegExp(
        `^the role ${role.name} lacks .* on .*: run axport migrate --grant-loader ${role.name} as the owner`,
      ),
    )
  })

  test('has the same privileges after a second grant, which does not affect its running service', async () => {
    const credentials = await provision(database.sql)
    const service = await serve({ DATABASE_URL: role.url(database.url) })
    const token = await firstToken(service.url, credentials)
    expect(await migrateGrant(role.name)).toBe(
      `the schema is up to date\n${role.name} has what axport serve needs\n`,
    )
    expect(ids(await getList(service.url, token))).toEqual([9001, 9002, 9003])
    const args = ['migrate', '--time-zone', 'UTC', '--grant', role.name, '--json']
    expect(JSON.parse(await succeed(database.url, ...args))).toEqual({
      applied: [],
      time_zone: { name: 'UTC', changed: false, days: 0 },
      granted: [{ role: role.name, for: 'axport serve' }],
    })
    await newToken(service.url, credentials)
    service.signal('SIGTERM')
    await service.finished
    await expectAllowed(role)
  })
})

requires(program('psql', 'postgresql-client')).test(
  'psql -f db/grants/serve.sql gives a role the same, at once or, with an error, not at all',
  async () => {
    const role = await newRole(`it's "quoted" too`)
    const script = join(import.meta.dir, '..', '..', 'db', 'grants', 'serve.sql')
    const psql = (...options: string[]) =>
      Bun.spawnSync(['psql', '--quiet', '--no-psqlrc', '-d', database.url, ...options, '-f', script])
    await database.sql.unsafe(`grant select on users to ${quoted(role.name)}`)
    const failed = psql('-v', `role=${role.name}`, '-v', 'schema=nowhere')
    expect(failed.exitCode).toBe(3)
    expect(await privilegesOf(database.sql, role.name)).toEqual(['select users'])
    const { exitCode, stderr, stdout } = psql('-v', `role=${role.name}`)
    expect([exitCode, `${stderr}`, `${stdout}`]).toEqual([0, '', ''])
    await expectAllowed(role)
  },
)
