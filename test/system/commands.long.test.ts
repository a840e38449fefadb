import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type OwnCluster, startCluster } from '../support/cluster.ts'
import { codeUnder, pageOf, ROOT } from '../support/document.ts'
import { cleanUp, emptyFolder, executable, shell, start } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { withConnection } from '../support/with-connection.ts'
import { expectTyped } from './support/console.ts'

setDefaultTimeout(300_000)

describe('the commands of', () => {
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

  test('docs/operate/commands.md print what the page shows, typed in one shell on an empty database', async () => {
    const cwd = emptyFolder()
    symlinkSync(await executable(), join(cwd, 'axport'))
    const ports = { 3000: await freePort(), 3001: await freePort(), 5432: new URL(postgres.url()).port }
    const page = Object.entries(ports).reduce(
      (text, [port, free]) => text.replaceAll(port, String(free)),
      pageOf('commands.md'),
    )
    const env = { PATH: `${cwd}:${process.env.PATH}`, HOME: cwd, LOGNAME: 'ana', PORT: String(ports[3000]) }
    expect(await expectTyped(page, { cwd, env })).toBeGreaterThan(40)
  })
  test('README.md end with a request that shows the loaded records', async () => {
    const cwd = emptyFolder()
    symlinkSync(await executable(), join(cwd, 'axport'))
    await withConnection(postgres.url(), sql =>
      sql.unsafe('create database trial encoding UTF8 template template0'),
    )
    writeFileSync(join(cwd, 'axport-url'), postgres.url('trial'), { mode: 0o600 })
    const page = readFileSync(join(ROOT, 'README.md'), 'utf8')
    const [setUp = '', request = ''] = codeUnder('Run it', '', page)
    // The executable is made already, and serve goes on in a terminal of its own.
    const [, ...typed] = setUp.split(/^(?=export DATABASE_URL_FILE)|^axport serve\n/m)
    const env = { PATH: `${cwd}:${process.env.PATH}`, HOME: cwd }
    const made = await shell(typed.join(''), { env, cwd })
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('assessments       1000 ') })
    const port = String(await freePort())
    const serving = await start(['serve'], { env: { DATABASE_URL: postgres.url('trial'), PORT: port } })
    await serving.shows(/listening/)
    const { stdout } = await shell(request.replaceAll('3000', port), { env, cwd })
    const [, meta = ''] = /ends in `("meta":\{.*?\}\})`/.exec(page) ?? []
    expect(stdout).toEndWith(`,${meta}`)
    serving.signal('SIGINT')
    await serving.finished
  })
})
