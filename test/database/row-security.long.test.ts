import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import { openDatabase } from '../../src/database/database.ts'
import { grantFor, LOAD, SERVE } from '../../src/database/grants.ts'
import { transact } from '../../src/database/transact.ts'
import { emptyDatabase } from '../support/cluster.ts'
import { axport, cleanUp, errorLine } from '../support/executable.ts'
import { assessment, ndjsonOf } from '../support/fixtures.ts'
import { LIST, openWorld, provision, succeed } from '../support/operator.ts'
import { type Role, useRoles } from '../support/roles.ts'
import { firstToken, serveWith } from '../support/served.ts'
import type { TestDatabase } from '../support/service.ts'
import { withConnection } from '../support/with-connection.ts'

let database: TestDatabase
let server: Role
let loader: Role
afterAll(async () => {
  await cleanUp()
  await database.close()
})
const newRole = useRoles()
beforeAll(async () => {
  database = await openWorld()
  server = await newRole()
  loader = await newRole()
  await grantFor(database.sql, server.name, SERVE)
  await grantFor(database.sql, loader.name, LOAD)
})

/** Lets every role see the half of a table only, while `work` runs. */
async function hiding<Result>(table: string, work: () => Promise<Result>): Promise<Result> {
  await database.sql.unsafe(
    `alter table ${table} enable row level security; create policy half on ${table} using (ctid::text like '%1)')`,
  )
  return await work().finally(() =>
    database.sql.unsafe(`drop policy half on ${table}; alter table ${table} disable row level security`),
  )
}

describe('where row level security would hide rows from the role,', () => {
  test.each([
    ['off', 'the role has the setting, too'],
    ['on', 'the service alone asks for it'],
  ])('a request gets 500, and the log says why: row_security of the role is %s, %s', async setting => {
    const name = new URL(database.url).pathname.slice(1)
    await database.sql.unsafe(`alter role ${server.name} in database ${name} set row_security = ${setting}`)
    const credentials = await provision(database.sql)
    const service = await serveWith([], { DATABASE_URL: server.url(database.url) })
    const headers = { authorization: `Bearer ${await firstToken(service.url, credentials)}` }
    const status = async () => (await fetch(`${service.url}${LIST}`, { headers })).status
    expect(await status()).toBe(200)
    expect(await hiding('export_records', status)).toBe(500)
    expect(await status()).toBe(200)
    const [{ error } = { error: undefined }] = service.log().filter(({ msg }) => msg === 'unforeseen error')
    expect(error).toMatchObject({
      code: '42501',
      message:
        'row level security would hide rows from this role: axport doctor names the table and how to end that',
    })
    await service.end().catch(() => {})
    await database.sql.unsafe(`alter role ${server.name} in database ${name} set row_security = off`)
  })

  test('an import loads nothing, and says why in a line', async () => {
    const env = { DATABASE_URL: loader.url(database.url) }
    const stdin = { text: ndjsonOf([assessment(9004)]) }
    const load = () => axport(['import', '-'], { env, stdin })
    for (const table of ['users', 'assessments', 'export_records'])
      expect(errorLine(await hiding(table, load), 1)).toBe(
        'row level security would hide rows from this role: axport doctor names the table and how to end that ' +
          `(query would be affected by row-level security policy for table "${table}")`,
      )
    expect(await load()).toMatchObject({ code: 0 })
  })

  test('every transaction of a command fails, also if the connection has another setting', async () => {
    const opened = await openDatabase(loader.url(database.url), 1)
    await opened.sql`set row_security = on`
    const counting = () =>
      transact(opened.sql, async tx => (await tx`select from users`).count).finally(() => opened.close())
    await expect(hiding('users', counting)).rejects.toThrow(/row-level security policy/)
  })

  test.each([
    ['serve', () => server, 'export_records'],
    ['import', () => loader, 'users'],
  ] as const)(
    'a connection of the role for %s fails whoever opened it, as a pooler does',
    async (_, role, table) => {
      const counting = () =>
        withConnection(
          role().url(database.url),
          async sql => (await sql.unsafe(`select from ${table}`)).count,
        )
      expect(await counting()).toBeGreaterThan(0)
      await expect(hiding(table, counting)).rejects.toThrow(/row-level security policy/)
    },
  )
})

test('a grant by an owner who may not set it for other roles grants all else, and connections of axport ask for it', async () => {
  const { url, drop } = await emptyDatabase()
  const [owner, other] = [await newRole(), await newRole()]
  const setting = async (sql: Sql) => (await sql`show row_security`)[0]?.row_security
  await database.sql.unsafe(`alter database ${new URL(url).pathname.slice(1)} owner to ${owner.name}`)
  try {
    expect(await succeed(owner.url(url), 'migrate', '--time-zone', 'UTC', '--grant', other.name)).toEndWith(
      'has what axport serve needs\n',
    )
    expect(await withConnection(other.url(url), setting)).toBe('on')
    const opened = await openDatabase(other.url(url), 1)
    expect(await setting(opened.sql).finally(() => opened.close())).toBe('off')
  } finally {
    await drop()
  }
})
