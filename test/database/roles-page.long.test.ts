import { afterAll, beforeAll, expect } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeUnder, pageOf, ROOT } from '../support/document.ts'
import { cleanUp, emptyFolder, shell } from '../support/executable.ts'
import { openWorld } from '../support/operator.ts'
import { program, requires } from '../support/requires.ts'
import type { TestDatabase } from '../support/service.ts'
import { withConnection } from '../support/with-connection.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openWorld()
})
afterAll(async () => {
  await cleanUp()
  await database.close()
})

requires(program('psql', 'postgresql-client')).test(
  'the commands about roles in docs/operate/database.md do what the page says',
  async () => {
    const url = new URL(database.url)
    const name = url.pathname.slice(1)
    // Roles belong to the whole server, which other tests use, too.
    const own = (text: string) => text.replaceAll(/axport_(?=serve|load|backup)/g, `${name}_`)
    const files = emptyFolder()
    const urlOf = (username: string, password: string) =>
      Object.assign(new URL(database.url), { username: own(username), password }).href
    writeFileSync(join(files, 'serve-url'), urlOf('axport_serve', 'password2'))
    writeFileSync(join(files, 'loader-url'), urlOf('axport_load', 'password3'))
    writeFileSync(join(files, 'owner-url'), database.url)
    const run = async (text: string) => {
      const env = {
        ...{ PGHOST: url.hostname, PGPORT: url.port, PGUSER: url.username, PGPASSWORD: url.password },
        ...{ PGDATABASE: name, DATABASE_URL_FILE: join(files, 'owner-url') },
      }
      const commands = own(text)
        .replaceAll('/etc/axport', files)
        .replaceAll('runuser -u postgres -- ', '')
        .replaceAll('psql -d axport ', `psql -d ${name} `)
      // axport warns of variables that it ignores.
      const unset = Object.keys(env).filter(variable => variable.startsWith('PG'))
      const line = `set -e; axport() ( unset ${unset.join(' ')}; "$AXPORT" "$@" )\n${commands}`
      return await shell(line, { env, cwd: ROOT })
    }
    const [grant = '', apply = '', ...others] = codeUnder('Roles', 'sh', pageOf('database.md'))
    expect(others).toEqual([])
    try {
      await database.sql.unsafe(
        own(`create role axport_serve login password 'password2';
          create role axport_load login password 'password3';
          create role axport_backup login password 'password4' in role pg_read_all_data`),
      )
      const granted = await run(grant)
      expect(granted).toMatchObject({ code: 0, stderr: '' })
      expect(granted.stdout).toContain(own('axport_serve has what axport serve needs\n'))
      expect(granted.stdout).toContain('serve can start: ')
      expect(granted.stdout).toMatch(new RegExp(own('^privileges +ok +axport_load can import$'), 'm'))
      await database.sql.unsafe(
        own('grant select on users to axport_serve; revoke insert on users from axport_load'),
      )
      expect(await run(apply)).toMatchObject({ code: 0, stderr: '' })
      const again = await run(grant.slice(grant.indexOf('DATABASE_URL_FILE=')))
      expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining(own('axport_load can import')) })
      const as = (username: string, password: string, text: string) =>
        withConnection(urlOf(username, password), sql => sql.unsafe(text))
      await expect(as('axport_serve', 'password2', 'select from users')).rejects.toThrow(
        'permission denied for table users',
      )
      await as('axport_backup', 'password4', 'select from access_tokens')
      await expect(as('axport_backup', 'password4', 'delete from users')).rejects.toThrow(
        'permission denied for table users',
      )
      await as('axport_backup', 'password4', 'call note_backup()')
      expect(
        await database.sql`select from last_backup where ended_at > now() - interval '1 minute'`,
      ).toHaveLength(1)
      await expect(as('axport_serve', 'password2', 'call note_backup()')).rejects.toThrow('permission denied')
    } finally {
      await database.sql.unsafe(
        own(`drop owned by axport_serve, axport_load, axport_backup;
          drop role axport_serve, axport_load, axport_backup`),
      )
    }
  },
)
