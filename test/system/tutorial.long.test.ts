import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type OwnCluster, startCluster } from '../support/cluster.ts'
import { pageOf, ROOT } from '../support/document.ts'
import { cleanUp, emptyFolder, executable } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { program, requires } from '../support/requires.ts'
import { expectTyped } from './support/console.ts'

setDefaultTimeout(300_000)

/** As the page has it. */
const SUPERUSER = 'postgres://postgres:password@127.0.0.1:5432/postgres'

const PSQL = program('psql', 'postgresql-client-15')
const CURL = program('curl', 'curl')

requires(PSQL, CURL).describe('docs/operate/tutorial.md', () => {
  let postgres: OwnCluster
  beforeAll(async () => {
    postgres = await startCluster()
  })
  afterAll(async () => {
    await postgres?.stop()
    await cleanUp()
  })

  test('has each command with the output that it prints, typed in one shell on an empty server', async () => {
    const cwd = emptyFolder()
    symlinkSync(await executable(), join(cwd, 'axport'))
    for (const folder of ['integrate/examples', 'operate/platform-example'])
      cpSync(join(ROOT, 'docs', folder), join(cwd, 'docs', folder), { recursive: true })
    const ports = { 3000: await freePort(), 3001: await freePort(), 5432: new URL(postgres.url()).port }
    const here = (text: string) =>
      Object.entries(ports).reduce((text, [port, free]) => text.replaceAll(port, String(free)), text)
    const env = { PATH: `${cwd}:${process.env.PATH}`, HOME: cwd, PORT: String(ports[3000]) }
    const page = here(pageOf('tutorial.md').replace(SUPERUSER, postgres.url()))
    expect(await expectTyped(page, { cwd, env })).toBeGreaterThan(35)
  })
})
