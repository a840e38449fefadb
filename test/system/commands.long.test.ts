import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type OwnCluster, startCluster } from '../support/cluster.ts'
import { pageOf } from '../support/document.ts'
import { cleanUp, emptyFolder, executable } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { withConnection } from '../support/with-connection.ts'
import { expectTyped } from './support/console.ts'

setDefaultTimeout(300_000)

describe('docs/operate/commands.md', () => {
  let postgres: OwnCluster
  beforeAll(async () => {
    postgres = await startCluster()
    await withConnection(postgres.url(), async sql => {
      await sql.unsafe("create role axport login password 'password'")
      await sql.unsafe('create database axport owner axport encoding UTF8 template template0')
    })
  })
  afterAll(async () => {
    await postgres?.stop()
    await cleanUp()
  })

  test('has examples that print what the page shows, typed in one shell on an empty database', async () => {
    const cwd = emptyFolder()
    symlinkSync(await executable(), join(cwd, 'axport'))
    const ports = { 3000: await freePort(), 3001: await freePort(), 5432: new URL(postgres.url()).port }
    const page = Object.entries(ports).reduce(
      (text, [port, free]) => text.replaceAll(port, String(free)),
      pageOf('commands.md'),
    )
    const env = { PATH: `${cwd}:${process.env.PATH}`, HOME: cwd, PORT: String(ports[3000]) }
    expect(await expectTyped(page, { cwd, env })).toBeGreaterThan(40)
  })
})
