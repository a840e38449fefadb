import { describe, expect, test } from 'bun:test'
import { openDatabase } from '../../src/database/database.ts'
import { grantFor, SERVE } from '../../src/database/grants.ts'
import { emptyDatabase } from '../support/cluster.ts'
import { axport, errorLine } from '../support/executable.ts'
import { openWorld } from '../support/operator.ts'
import { quoted } from '../support/roles.ts'
import { withConnection } from '../support/with-connection.ts'
import { useServeGrants } from './serve-grants.ts'

const { database, newRole, migrateGrant, refusalOf, expectAllowed } = useServeGrants()

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
    await database.sql.unsafe(grant.replaceAll('ROLE', quoted(role.name)).replace('DATABASE', name))
    await grantFor(database.sql, role.name, SERVE)
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
    await database.sql.unsafe(`alter role ${role.name} superuser`)
    expect(await refusalOf(role.name)).toContain('is a superuser')
  })

  test.each([`it's "quoted"`, 'Ünïcode', 'select', 'serve@project.iam', 'a$b-c'])(
    'may have the name %s',
    async name => {
      const role = await newRole(name)
      await grantFor(database.sql, name, SERVE)
      await expectAllowed(role)
    },
  )

  test('may be granted privileges in a database with the name a.b', async () => {
    const other = await openWorld()
    const [name, odd] = [new URL(other.url).pathname.slice(1), `a.b-${crypto.randomUUID()}`]
    const role = await newRole('Upper Case')
    await other.sql.end()
    await database.sql.unsafe(`alter database ${name} rename to ${quoted(odd)}`)
    try {
      await migrateGrant(role.name, Object.assign(new URL(other.url), { pathname: `/${odd}` }).href)
    } finally {
      await database.sql.unsafe(`alter database ${quoted(odd)} rename to ${name}`)
      await other.close()
    }
  })

  test('may be granted privileges in a schema with the name Up Case', async () => {
    const { url, drop } = await emptyDatabase()
    const role = await newRole()
    const name = new URL(url).pathname.slice(1)
    await database.sql.unsafe(`alter database ${name} set search_path = "Up Case"`)
    await withConnection(url, other => other`create schema "Up Case"`)
    expect(await migrateGrant(role.name, url, '--time-zone', 'UTC')).toEndWith(
      `\n${role.name} has what axport serve needs\n`,
    )
    await drop()
  })

  test('cannot be the owner of a function of the schema', async () => {
    const { name } = await newRole()
    await database.sql.unsafe(`create function of_a_role() returns integer language sql return 1`)
    await database.sql.unsafe(`alter function of_a_role() owner to ${quoted(name)}`)
    try {
      expect(await refusalOf(name)).toContain(
        ' owns tables or functions of this schema, and can do everything: ',
      )
    } finally {
      await database.sql`drop function of_a_role()`
    }
  })

  test('cannot be the owner of the tables, who would lose privileges', async () => {
    const owner = await newRole()
    const [before] = await database.sql`select tableowner from pg_tables where tablename = 'users'`
    const give = (to: string) => database.sql.unsafe(`alter table users owner to ${quoted(to)}`)
    await give(owner.name)
    try {
      expect(await refusalOf(owner.name)).toContain(
        ' owns tables or functions of this schema, and can do everything: ',
      )
      const [kept] = await database.sql<{ writes: boolean }[]>`
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
    await database.sql.unsafe(
      `${have}; grant create on schema public to CLERK`.replaceAll('CLERK', clerk.name),
    )
    const asClerk = await openDatabase(clerk.url(database.url), 1)
    const refused = await refusalOf(role.name, asClerk.sql).finally(() => asClerk.close())
    expect(refused).toMatch(
      /^axport_test_\w+ would still lack .* and \d+ more: run this command as the owner of the tables$|^permission denied for /,
    )
    const [granted] = await database.sql`select has_table_privilege(${role.name}, ${lacked}, 'select') as has`
    expect(granted).toEqual({ has: false })
  })

  test('gets the same from two concurrent grants', async () => {
    const role = await newRole()
    const other = await openDatabase(database.url, 1)
    await Promise.all([grantFor(database.sql, role.name, SERVE), grantFor(other.sql, role.name, SERVE)])
    await other.close()
    await expectAllowed(role)
  })
})
