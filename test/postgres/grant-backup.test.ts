import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { KEPT } from '../../src/backup/tables.ts'
import { openDatabase } from '../../src/postgres/database.ts'
import { diagnose } from '../support/doctor.ts'
import { axport, cleanUp, emptyFolder, errorLine } from '../support/executable.ts'
import { openWorld, succeed } from '../support/operator.ts'
import { privilegesOf } from '../support/privileges.ts'
import { type Role, useRoles } from '../support/roles.ts'
import type { TestDatabase } from '../support/service.ts'

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
  await succeed(database.url, 'migrate', '--grant-backup', role.name)
})

const backUp = (name: string) =>
  axport(['backup', join(emptyFolder(), name)], { env: { DATABASE_URL: role.url(database.url) } })
const noted = async (job: string) => {
  const [row] = await database.sql<{ at: Date }[]>`select succeeded_at as at from jobs where name = ${job}`
  return row?.at
}

describe('a role with the grants for backup', () => {
  test('reads the tables of a backup, may note a job, and has no other privilege', async () => {
    const opened = await openDatabase(role.url(database.url), 1)
    const all = await privilegesOf(opened.sql, database.sql).finally(() => opened.close())
    const read = [...KEPT.map(({ table }) => table), 'disclosure_state', 'export_state', 'schema_migrations']
    expect(all.filter(privilege => !privilege.startsWith('execute'))).toEqual(
      read.map(table => `select ${table}`).sort(),
    )
    expect(all).toContain('execute note_job(text, timestamp with time zone)')
    expect(all).not.toContain('execute log_any_change()')
  })

  test('makes a backup, whose time the database notes', async () => {
    expect(await noted('backup')).toBeUndefined()
    expect(await backUp('first')).toMatchObject({ code: 0, stderr: '' })
    const first = (await noted('backup')) as Date
    expect(await backUp('second')).toMatchObject({ code: 0, stderr: '' })
    expect(((await noted('backup')) as Date) >= first).toBe(true)
  })

  test('is fine for axport doctor', async () => {
    const { findings } = await diagnose({ DATABASE_URL: role.url(database.url) })
    expect(findings.find(({ check }) => check === 'privileges')?.detail).toBe(
      `${role.name} can back up and nothing more`,
    )
  })

  test('still makes backups without the right to note them, and says what to run', async () => {
    await database.sql.unsafe(
      `revoke execute on function note_job(text, timestamp with time zone) from ${role.name}`,
    )
    const { code, stderr } = await backUp('unnoted')
    expect([code, stderr]).toEqual([
      0,
      'the database has not noted this backup: this role may not: run axport migrate --grant-backup with its name\n',
    ])
  })
})

test('one role cannot have two purposes', async () => {
  const args = ['migrate', '--grant', role.name, '--grant-backup', role.name]
  const run = await axport(args, { env: { DATABASE_URL: database.url } })
  expect(errorLine(run, 2)).toStartWith('--grant and --grant-backup need two roles')
})
