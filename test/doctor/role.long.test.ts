import { afterAll, beforeAll, expect, test } from 'bun:test'
import { grantFor, LOAD, SERVE, type Work } from '../../src/database/grants.ts'
import { badFindings, CHECKS, detailOf, diagnose } from '../support/doctor.ts'
import { cleanUp } from '../support/executable.ts'
import { openWorld } from '../support/operator.ts'
import { type Role, useRoles } from '../support/roles.ts'
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

/** A role with the privileges for some work, and the database connected as this role. */
async function granted(work: Work): Promise<{ role: Role; asRole: string }> {
  const role = await newRole()
  await grantFor(database.sql, role.name, work)
  return { role, asRole: role.url(database.url) }
}

test('axport doctor, as the role that serves, skips what the role may not see, says who may, and succeeds', async () => {
  const { asRole } = await granted(SERVE)
  const { findings, line } = await diagnose({ DATABASE_URL: asRole }, '--full')
  expect(line).toBeNull()
  expect(findings.map(({ check }) => check)).toEqual(CHECKS)
  expect(await badFindings(asRole)).toEqual([
    expect.stringMatching(
      /^export: skipped, this role may not look \(permission denied for .*\): run doctor as the owner of the tables$/,
    ),
  ])
})

test('axport doctor says what the role can do', async () => {
  for (const [work, can] of [
    [SERVE, 'serve'],
    [LOAD, 'import'],
  ] as const) {
    const { asRole, role } = await granted(work)
    expect(await detailOf(asRole, 'privileges')).toBe(`${role.name} can ${can}`)
  }
  expect(await detailOf(database.url, 'privileges')).toMatch(/^\w+ can serve and import$/)
})

test('axport doctor names what a role lacks for the work that it is closest to, and ends there', async () => {
  const { asRole: serving, role: server } = await granted(SERVE)
  await database.sql.unsafe(`revoke select on export_records, live_tokens from ${server.name}`)
  const { asRole: loading, role: loader } = await granted(LOAD)
  await database.sql.unsafe(`revoke insert on users from ${loader.name}`)
  const owner = 'as the owner of the tables'
  expect(await badFindings(serving)).toEqual([
    `privileges: wrong, ${server.name} lacks select on export_records, select on live_tokens: ` +
      `run axport migrate --grant ${server.name} ${owner}`,
  ])
  expect(await badFindings(loading)).toEqual([
    `privileges: wrong, ${loader.name} lacks insert on users: run axport migrate --grant-loader ${loader.name} ${owner}`,
  ])
})

test('axport doctor reports a role that cannot use the schema', async () => {
  const { asRole, role } = await granted(SERVE)
  await database.sql`revoke usage on schema public from public`
  await database.sql.unsafe(`revoke usage on schema public from ${role.name}`)
  try {
    expect(await badFindings(asRole)).toEqual([
      expect.stringMatching(
        /^search path: wrong, .* may not use the schema public, .*: the owner of the tables allows it by/,
      ),
    ])
  } finally {
    await database.sql`grant usage on schema public to public`
  }
})
