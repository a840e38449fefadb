import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { grantFor } from '../../src/postgres/privileges/grant.ts'
import { LOAD, SERVE } from '../../src/postgres/privileges/purposes.ts'
import { badFindings, CHECKS, detailOf, diagnose } from '../support/doctor.ts'
import { cleanUp } from '../support/executable.ts'
import { openWorld } from '../support/operator.ts'
import { quoted, type Role, useRoles } from '../support/roles.ts'
import type { TestDatabase } from '../support/service.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openWorld()
})
afterAll(async () => {
  await cleanUp()
  await database.close()
})
const newRole = useRoles()

/** A role with the privileges for serve, and the database connected as this role. */
async function granted(): Promise<{ role: Role; asRole: string }> {
  const role = await newRole()
  await grantFor(database.sql, role.name, SERVE)
  return { role, asRole: role.url(database.url) }
}

describe('axport doctor as the role that serves', () => {
  test('skips checks of tables that the role cannot read, says who can, and succeeds', async () => {
    const { asRole } = await granted()
    const { findings, line } = await diagnose({ DATABASE_URL: asRole }, '--full')
    expect(line).toBeNull()
    expect(findings.map(({ check }) => check)).toEqual(CHECKS)
    expect(await badFindings(asRole)).toEqual([
      'read model: skipped, this role cannot read the source tables: run doctor as their owner',
      'erasures: skipped, this role cannot read the tombstones of erased people: see its privileges',
      'integrations: skipped, this role cannot read their organizations: run doctor as the owner',
    ])
  })

  test('reports the privileges of the role, and what only the owner can do', async () => {
    const { asRole, role } = await granted()
    expect(await detailOf(asRole, 'privileges')).toBe(`${role.name} can serve and nothing more`)
    expect(await detailOf(database.url, 'privileges')).toMatch(/^\w+ can serve, import and provision$/)
  })
})

test('axport doctor names privileges that serving does not need', async () => {
  const { asRole, role } = await granted()
  await database.sql.unsafe(`grant select (email) on users to ${role.name}`)
  expect(await detailOf(asRole, 'privileges')).toBe(
    `${role.name} can serve, and has more than that needs: select on users`,
  )
})

test('axport doctor advises a statement timeout for a role that serves, and for none that imports', async () => {
  const loader = await newRole()
  await grantFor(database.sql, loader.name, LOAD)
  const advice = (role: string) => detailOf(`${role}?statement_timeout=5000`, 'statement timeout')
  const { asRole, role } = await granted()
  // A role that only reads the source tables does not import.
  await database.sql.unsafe(`grant select on assessments to ${role.name}`)
  expect(await advice(asRole)).toEndWith(`: alter role ${role.name} set statement_timeout = 10000`)
  for (const importing of [loader.url(database.url), database.url])
    expect(await advice(importing)).toEndWith(': alter role ROLE set statement_timeout = 10000')
})

test('axport doctor reports a role that cannot use the schema', async () => {
  const { asRole, role } = await granted()
  await database.sql`revoke usage on schema public from public`
  await database.sql.unsafe(`revoke usage on schema public from ${role.name}`)
  try {
    expect(await badFindings(asRole)).toContain(
      `privileges: wrong, ${role.name} lacks usage on the schema: axport migrate --grant ${role.name}`,
    )
  } finally {
    await database.sql`grant usage on schema public to public`
  }
})

test('axport doctor, as a role that cannot serve, names every missing privilege and the command that grants them', async () => {
  const { role, asRole } = await granted()
  const lacks = SERVE.privileges.flatMap(phrase => {
    const [what = '', tables = ''] = phrase.replace(/ \(.*\)/, '').split(' on ')
    return what.split(', ').flatMap(privilege => tables.split(', ').map(table => `${privilege} on ${table}`))
  })
  const revocations = SERVE.privileges.map(phrase => `revoke ${phrase} from ${quoted(role.name)}`)
  await database.sql.unsafe(revocations.join('; '))
  await database.sql.unsafe(`revoke execute on function purge_ended_secrets() from ${quoted(role.name)}`)
  const found = (await badFindings(asRole)).find(line => line.startsWith('privileges: wrong, ')) ?? ''
  expect(found).toMatch(
    new RegExp(`^privileges: wrong, ${role.name} lacks .*: axport migrate --grant ${role.name}$`),
  )
  for (const named of lacks) expect(found).toContain(named)
  expect(found).toContain('purge_ended_secrets')
})
