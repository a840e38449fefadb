import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { postToken } from '../support/http.ts'
import { serveWith, useServedWorld } from '../support/served.ts'
import { until } from '../support/until.ts'

const world = useServedWorld()

/** The service as a role of its own, by a file that holds DATABASE_URL; `rotate` gives the role another password. */
async function serveAsRole(args: string[] = []) {
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
  const served = await serveWith(args, { DATABASE_URL_FILE: file, DATABASE_POOL_SIZE: '2' })
  return {
    ...served,
    /** As an operator does: the password, the file, and the end of the connections that are open. */
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

test.each([[[]], [['--workers', '2']]])(
  'serve %p goes on with the password that DATABASE_URL_FILE has by then',
  async args => {
    const served = await serveAsRole(args)
    expect((await world.list(served)).status).toBe(200)
    await served.rotate()
    for (let time = 0; time < 4; time++) {
      expect((await world.list(served)).status).toBe(200)
      expect((await postToken(served.url, world.credentials)).status).toBe(200)
    }
    await served.close()
  },
)

test.each([[[]], [['--workers', '2']]])('serve %p without TLS goes on after SIGHUP', async args => {
  const served = await world.serve(args)
  served.signal('SIGHUP')
  await until('the log says so', () => served.log().some(({ msg }) => msg.includes('no certificate')))
  expect((await world.list(served)).status).toBe(200)
  await served.end()
})
