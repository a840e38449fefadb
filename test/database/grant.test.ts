import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Sql } from 'postgres'
import { tryRecording } from '../../src/assessments/disclosure.ts'
import { startPurging } from '../../src/cli/purge.ts'
import { openDatabase } from '../../src/database/database.ts'
import { grantFor, missingPrivileges, SERVE } from '../../src/database/grants.ts'
import { tryIssuing } from '../../src/oauth/tokens.ts'
import { purgeDisclosures, setDisclosureState } from '../../src/tables/disclosure-state.ts'
import { emptyDatabase } from '../support/cluster.ts'
import { axport, cleanUp, errorLine, serve } from '../support/executable.ts'
import { postToken } from '../support/http.ts'
import { getList, ids, LIST, newToken, openWorld, provision, refusal, succeed } from '../support/operator.ts'
import { expectPrivileges, privilegesOf } from '../support/privileges.ts'
import { program, requires } from '../support/requires.ts'
import { quoted, type Role, useRoles } from '../support/roles.ts'
import { firstToken, serveWith } from '../support/served.ts'
import type { TestDatabase } from '../support/service.ts'
import { until } from '../support/until.ts'
import { withConnection } from '../support/with-connection.ts'

/** All privileges of a role that serves. */
const ALLOWED = [
  'delete access_tokens',
  'execute purge_disclosures()',
  'execute record_disclosure(uuid,text,inet,text,bigint[],bigint[],text[])',
  'insert access_tokens',
  'select access_tokens',
  'select disclosure_state',
  'select export_counts',
  'select export_people',
  'select export_products',
  'select export_records',
  'select export_state',
  'select export_version',
  'select feeds',
  'select integration_secrets',
  'select integrations',
  'select live_secrets',
  'select live_tokens',
  'select schema_migrations',
  'update access_tokens.created_at',
  'update integration_secrets.last_used_at',
]

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await openWorld()
  sql = database.sql
})
afterAll(async () => {
  await cleanUp()
  await database.close()
})
const newRole = useRoles()

const migrateGrant = (name: string, url = database.url) => succeed(url, 'migrate', '--grant', name)

/** Why the grant of `axport migrate --grant` is refused to a role. */
async function refusalOf(name: string, grantor = sql): Promise<string> {
  return await grantFor(grantor, name, SERVE).then(
    () => 'it was granted',
    (error: Error) => error.message,
  )
}

async function asRole<T>(role: Role, work: (sql: Sql) => Promise<T>): Promise<T> {
  const opened = await openDatabase(role.url(database.url), 2)
  return await work(opened.sql).finally(() => opened.close())
}

const expectAllowed = (role: Role) => expectPrivileges(sql, role.name, 'serve.sql', ALLOWED)

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
    const credentials = await provision(sql)
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
      const [row] = await sql`
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
    await provision(sql)
    await asRole(role, async roleSql => {
      await tryIssuing(roleSql)
      await tryRecording(roleSql)
    })
    expect((await sql`select from disclosures`).count).toBe(0)
  })

  test('can purge expired tokens', async () => {
    await sql`
      insert into access_tokens (digest, secret_id, expires_at)
      values (sha256('expired'), 1, now() - interval '2 days')`
    const warnings: object[] = []
    await asRole(role, async roleSql => {
      const log = { info: () => {}, warn: (warning: object) => warnings.push(warning) }
      const stop = startPurging(roleSql, { log, firstDelayMs: 0 })
      const left = () => sql`select from access_tokens where digest = sha256('expired')`
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
    const columns = await sql<{ name: string }[]>`
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
    const credentials = await provision(sql)
    await setDisclosureState(sql, { isOn: true, kept: '1 day' })
    try {
      const service = await serve({ DATABASE_URL: role.url(database.url) })
      const token = await firstToken(service.url, credentials)
      expect(ids(await getList(service.url, token))).toEqual([9001, 9002, 9003])
      service.signal('SIGTERM')
      expect(await service.finished).toMatchObject({ code: 0, stderr: '' })
      expect((await sql`select from disclosures`).count).toBe(1)
      await sql`update disclosures set at = now() - interval '2 days'`
      await asRole(role, purgeDisclosures)
      expect((await sql`select from disclosures`).count).toBe(0)
    } finally {
      await setDisclosureState(sql, { isOn: false })
    }
  })

  test.each(ALLOWED)('without "%s" is told by serve --check what to run', async privilege => {
    const [verb = '', object = ''] = privilege.split(/ (.*)/)
    const [table = '', column] = object.split('.')
    const what =
      verb === 'execute'
        ? `execute on function ${object}`
        : `${verb}${column ? ` (${column})` : ''} on ${table}`
    await sql.unsafe(`revoke ${what} from ${role.name}`)
    const [missing, ...others] = await missingPrivileges(sql, SERVE, role.name)
    expect(missing?.replaceAll(', ', ',')).toBe(what)
    expect(others).toEqual([])
    await sql.unsafe(`grant ${what} to ${role.name}`)
  })

  test('cannot provision, import or migrate: one line names the missing privilege', async () => {
    const url = role.url(database.url)
    const { clientId } = await provision(sql)
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
    const credentials = await provision(sql)
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
    await sql.unsafe(`grant select on users to ${quoted(role.name)}`)
    const failed = psql('-v', `role=${role.name}`, '-v', 'schema=nowhere')
    expect(failed.exitCode).toBe(3)
    expect(await privilegesOf(sql, role.name)).toEqual(['select users'])
    const { exitCode, stderr, stdout } = psql('-v', `role=${role.name}`)
    expect([exitCode, `${stderr}`, `${stdout}`]).toEqual([0, '', ''])
    await expectAllowed(role)
  },
)

describe('migrate --grant for a role that has more than serve needs', () => {
  test.each([
    ['every privilege on every table and view', 'grant all on all tables in schema public to ROLE'],
    [
      'single columns',
      'grant select (id, email), update (email) on users to ROLE; grant update (digest) on integration_secrets to ROLE',
    ],
    ['sequences', 'grant all on all sequences in schema public to ROLE'],
    ['the privilege to create tables', 'grant create on schema public to ROLE'],
    ['functions', 'grant execute on all functions in schema public to ROLE'],
    ['the privilege to create schemas', 'grant create on database DATABASE to ROLE'],
  ])('revokes %s', async (_, grant) => {
    const role = await newRole()
    const name = new URL(database.url).pathname.slice(1)
    await sql.unsafe(grant.replaceAll('ROLE', quoted(role.name)).replace('DATABASE', name))
    await grantFor(sql, role.name, SERVE)
    await expectAllowed(role)
  })
})

describe('the role of migrate --grant', () => {
  test('is named if it does not exist, and is quoted for SQL in the advice to create it', async () => {
    const args = ['migrate', '--grant', 'axport_nobody']
    const missing = await axport(args, { env: { DATABASE_URL: database.url } })
    expect(missing.stdout).toBe('the schema is up to date\n')
    expect(errorLine({ ...missing, stdout: '' }, 1)).toStartWith(
      'there is no role axport_nobody: create it with ',
    )
    expect(await refusalOf('a.B "c"')).toEndWith(`create it with create role "a.B ""c""" login password '…'`)
  })

  test('cannot be a superuser, who has every privilege', async () => {
    const role = await newRole()
    await sql.unsafe(`alter role ${role.name} superuser`)
    expect(await refusalOf(role.name)).toContain('is a superuser')
  })

  test.each([`it's "quoted"`, 'Ünïcode', 'select', 'serve@project.iam', 'a$b-c'])(
    'may have the name %s',
    async name => {
      const role = await newRole(name)
      await grantFor(sql, name, SERVE)
      await expectAllowed(role)
    },
  )

  test('may be granted privileges in a database with the name a.b', async () => {
    const other = await openWorld()
    const [name, odd] = [new URL(other.url).pathname.slice(1), `a.b-${crypto.randomUUID()}`]
    const role = await newRole('Upper Case')
    await other.sql.end()
    await sql.unsafe(`alter database ${name} rename to ${quoted(odd)}`)
    try {
      await migrateGrant(role.name, Object.assign(new URL(other.url), { pathname: `/${odd}` }).href)
    } finally {
      await sql.unsafe(`alter database ${quoted(odd)} rename to ${name}`)
      await other.close()
    }
  })

  test('may be granted privileges in a schema with the name Up Case', async () => {
    const { url, drop } = await emptyDatabase()
    const role = await newRole()
    const name = new URL(url).pathname.slice(1)
    await sql.unsafe(`alter database ${name} set search_path = "Up Case"`)
    await withConnection(url, other => other`create schema "Up Case"`)
    expect(await migrateGrant(role.name, url)).toEndWith(`\n${role.name} has what axport serve needs\n`)
    await drop()
  })

  test('cannot be the owner of a function of the schema', async () => {
    const { name } = await newRole()
    await sql.unsafe(`create function of_a_role() returns integer language sql return 1`)
    await sql.unsafe(`alter function of_a_role() owner to ${quoted(name)}`)
    try {
      expect(await refusalOf(name)).toContain(
        ' owns tables or functions of this schema, and can do everything: ',
      )
    } finally {
      await sql`drop function of_a_role()`
    }
  })

  test('cannot be the owner of the tables, who would lose privileges', async () => {
    const owner = await newRole()
    const [before] = await sql`select tableowner from pg_tables where tablename = 'users'`
    const give = (to: string) => sql.unsafe(`alter table users owner to ${quoted(to)}`)
    await give(owner.name)
    try {
      expect(await refusalOf(owner.name)).toContain(
        ' owns tables or functions of this schema, and can do everything: ',
      )
      const [kept] = await sql<{ writes: boolean }[]>`
        select has_table_privilege(${owner.name}, 'users', 'update') as writes`
      expect(kept?.writes).toBe(true)
    } finally {
      await give(before?.tableowner as string)
    }
  })

  test.each([
    [
      'has every privilege on the tables itself',
      'grant all on all tables in schema public to CLERK',
      'export_state',
    ],
    ['has few itself', 'grant select on schema_migrations to CLERK', 'export_version'],
  ])('gets nothing from a role that cannot grant and %s', async (_, have, lacked) => {
    const [role, clerk] = [await newRole(), await newRole()]
    await sql.unsafe(`${have}; grant create on schema public to CLERK`.replaceAll('CLERK', clerk.name))
    expect(await asRole(clerk, clerkSql => refusalOf(role.name, clerkSql))).toMatch(
      /^axport_test_\w+ would still lack .* and \d+ more: run this command as the owner of the tables$|^permission denied for /,
    )
    const [granted] = await sql`select has_table_privilege(${role.name}, ${lacked}, 'select') as has`
    expect(granted).toEqual({ has: false })
  })

  test('gets the same from two concurrent grants', async () => {
    const role = await newRole()
    const other = await openDatabase(database.url, 1)
    await Promise.all([grantFor(sql, role.name, SERVE), grantFor(other.sql, role.name, SERVE)])
    await other.close()
    await expectAllowed(role)
  })
})
