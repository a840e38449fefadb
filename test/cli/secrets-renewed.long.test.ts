import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postToken } from '../support/http.ts'
import { serveWith, useServedWorld } from '../support/served.ts'

const world = useServedWorld()

/** Starts a service with a role of its own and DATABASE_URL_FILE. `rotate` gives the role a new password. */
async function serveAsRole() {
  const folder = mkdtempSync(join(tmpdir(), 'axport-secret-'))
  const file = join(folder, 'url')
  const url = new URL(world.env.DATABASE_URL as string)
  url.username = `renewed_${crypto.randomUUID().replaceAll('-', '')}`
  const write = (password: string) => {
    url.password = password
    writeFileSync(file, url.href)
  }
  await world.sql.unsafe(`create role ${url.username} superuser login password 'first'`)
  write('first')
  const served = await serveWith([], { DATABASE_URL_FILE: file, DATABASE_POOL_SIZE: '2' })
  return {
    ...served,
    /** Changes the password and the file, then ends all open connections, as an operator would. */
    rotate: async () => {
      await world.sql.unsafe(`alter role ${url.username} password 'second'`)
      write('second')
      await world.sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${url.username}`
    },
    close: async () => {
      await served.end()
      await world.sql.unsafe(`drop role ${url.username}`)
      rmSync(folder, { recursive: true })
    },
  }
}

test('serve connects with the new password after DATABASE_URL_FILE has changed', async () => {
  const served = await serveAsRole()
  expect((await world.list(served)).status).toBe(200)
  await served.rotate()
  for (let time = 0; time < 4; time++) {
    expect((await world.list(served)).status).toBe(200)
    expect((await postToken(served.url, world.credentials)).status).toBe(200)
  }
  await served.close()
})
