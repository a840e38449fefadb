import { afterAll, beforeAll, expect } from 'bun:test'
import { join } from 'node:path'
import { pageOf } from '../support/document.ts'
import { cleanUp, shell } from '../support/executable.ts'
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
  'every command of docs/operate/roles.md does what the page says',
  async () => {
    const url = new URL(database.url)
    const name = url.pathname.slice(1)
    // Roles belong to the whole server, which other tests use, too.
    const own = (text: string) => text.replaceAll(/axport_(?=serve|load)/g, `${name}_`)
    const run = async (text: string) => {
      const env = {
        ...{ PGHOST: url.hostname, PGPORT: url.port, PGUSER: url.username, PGPASSWORD: url.password },
        ...{ PGDATABASE: name, DATABASE_URL: database.url },
      }
      const commands = own(text)
        .replaceAll('127.0.0.1:5432/axport', `${url.host}/${name}`)
        .replaceAll('psql -d axport ', `psql -d ${name} `)
      // axport warns of variables that it ignores.
      const unset = Object.keys(env).filter(variable => variable.startsWith('PG'))
      const line = `set -e; axport() ( unset ${unset.join(' ')}; "$AXPORT" "$@" )\n${commands}`
      return await shell(line, { env, cwd: join(import.meta.dir, '..', '..') })
    }
    const [first = '', second = '', ...others] = [...pageOf('roles.md').matchAll(/^```sh\n([^`]*)```/gm)].map(
      ([, text = '']) => text,
    )
    expect(others).toEqual([])
    try {
      const granted = await run(first)
      expect(granted).toMatchObject({ code: 0, stderr: '' })
      expect(granted.stdout).toContain(own('axport_serve has what axport serve needs\n'))
      expect(granted.stdout).toContain('serve can start: ')
      expect(granted.stdout).toMatch(new RegExp(own('^privileges +ok +axport_load can import$'), 'm'))
      await database.sql.unsafe(
        own('grant select on users to axport_serve; revoke insert on users from axport_load'),
      )
      expect(await run(second)).toMatchObject({ code: 0, stderr: '' })
      const again = await run(first.slice(first.indexOf('DATABASE_URL=')))
      expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining(own('axport_load can import')) })
      await expect(
        withConnection(
          Object.assign(new URL(database.url), { username: own('axport_serve'), password: 'password2' }).href,
          sql => sql`select from users`,
        ),
      ).rejects.toThrow('permission denied for table users')
    } finally {
      await database.sql.unsafe(
        own('drop owned by axport_serve, axport_load; drop role axport_serve, axport_load'),
      )
    }
  },
)
