import { afterAll, describe, expect, test } from 'bun:test'
import { chmodSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  cleanUp,
  emptyFolder,
  ended,
  errorLine,
  executable,
  launch,
  shell,
  start,
} from '../support/executable.ts'
import { requires } from '../support/requires.ts'
import { isAlive } from '../support/stop-processes.ts'
import { until } from '../support/until.ts'
import { POSTGRES_15 } from '../system/support/debian-postgres.ts'
import { rightToMount } from '../system/support/small-disk.ts'

afterAll(cleanUp)

const EVALUATE = readFileSync(join(import.meta.dir, '../../docs/evaluate/README.md'), 'utf8')

const README = readFileSync(join(import.meta.dir, '../../README.md'), 'utf8')

const MAIN = join(import.meta.dir, '../../src/main.ts')

/** A folder for temporary files that the user may enter who runs Postgres in place of root. */
function openFolder(): string {
  const folder = emptyFolder()
  chmodSync(folder, 0o777)
  return folder
}

/** Starts the demo from this checkout. */
const demo = (env: Record<string, string>) =>
  launch([process.execPath, '--no-env-file', MAIN, 'demo'], { env: { PORT: '0', ...env } })

/** The process of the only server below a folder. */
function serverBelow(temporary: string): number {
  const [folder = ''] = readdirSync(temporary)
  return Number.parseInt(readFileSync(join(temporary, folder, 'data/postmaster.pid'), 'utf8'), 10)
}

const READY = /sample assessments at http:\S+\. Paste[\s\S]*Ctrl-C/

describe('axport demo', () => {
  test('prints curl commands that work when pasted, and removes its folder after Ctrl-C', async () => {
    // demo ignores these settings.
    const foreign = { DATABASE_URL: 'nonsense', DATABASE_URL_FILE: '/nowhere' }
    const temporary = openFolder()
    const running = demo({ TMPDIR: temporary, ...foreign })
    await running.shows(READY)
    const commands = running.stdout().match(/^(TOKEN=|curl |DATABASE_URL=).*/gm) ?? []
    expect(commands).toHaveLength(6)
    const [docs] = /^http:\S+\/docs$/m.exec(running.stdout()) ?? []
    expect((await fetch(docs ?? '')).status).toBe(200)
    expect(readdirSync(temporary)).toHaveLength(1)
    const { code, stdout, stderr } = await shell(
      commands.flatMap(line => [line, line.startsWith('TOKEN=') ? 'echo "$TOKEN"' : 'echo']).join('\n'),
    )
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/^The record is on.*\nThe record lists educators.*\n$/),
    })
    const wrong = await shell((commands[0] ?? '').replace(/client_secret=\w+/, 'client_secret=wrong'))
    expect([wrong.stdout, wrong.code]).toEqual(['', 1])
    expect(wrong.stderr).toContain('"error":"invalid_client"')
    const [token, first, one, filtered, ...operator] = stdout.trimEnd().split('\n')
    expect(operator.join('\n')).toMatch(/ Demo .* trying axport [\s\S]* is erased[\s\S]*\nshown to +Demo /)
    expect(token).toMatch(/^[A-Za-z0-9]{43}$/)
    const page = JSON.parse(first ?? '') as { data: { id: number }[] }
    expect(page).toMatchObject({ meta: { count: 2000, offset: 0, page: 2 } })
    expect(page.data).toHaveLength(2)
    expect(JSON.parse(one ?? '')).toMatchObject({ id: page.data[0]?.id, results: expect.any(Array) })
    const found = JSON.parse(filtered ?? '') as {
      data: { assessment_name: string }[]
      meta: { count: number }
    }
    // The record that the page shows.
    const [, shown = ''] = /^```json\n([\s\S]*?)^```/m.exec(EVALUATE) ?? []
    const { id } = JSON.parse(shown) as { id: number }
    const get = (commands[2] ?? '').replace(/\d+$/, String(id))
    const { stdout: record } = await shell(`${commands[0]}\n${get}`)
    expect(record).toBe(JSON.stringify(JSON.parse(shown)))
    // The request of the README, and its answer, which leaves out what "…" stands for.
    const [, asked = '', answer = ''] =
      /^```\n(curl [\s\S]*?)^```\n[\s\S]*?^```\n(\{[\s\S]*?)^```/m.exec(README) ?? []
    const request = asked.replace(
      'http://127.0.0.1:3000',
      /http:\S+(?=\/oauth)/.exec(commands[0] ?? '')?.[0] ?? '',
    )
    const { stdout: real } = await shell(`${commands[0]}\n${request.replace('curl', 'curl -sS')}`)
    const parts = answer.replaceAll(/\n */g, '').split('…')
    expect(parts.length).toBeGreaterThan(2)
    expect(real).toMatch(new RegExp(`^${parts.map(part => RegExp.escape(part)).join('.+?')}$`))
    expect(found.meta.count).toBeGreaterThan(2)
    expect(found.data).toHaveLength(2)
    for (const record of found.data) expect(JSON.stringify(record)).toMatch(/observation/i)
    running.signal('SIGINT')
    expect(await running.finished).toMatchObject({ code: 0, stderr: '' })
    expect(readdirSync(temporary)).toEqual([])
  })

  test('removes its folder if it is interrupted during the preparation', async () => {
    const temporary = openFolder()
    const running = demo({ TMPDIR: temporary })
    await running.shows(/Preparing/)
    await until('its folder is there', () => readdirSync(temporary).length)
    running.signal('SIGINT')
    await running.finished
    expect(readdirSync(temporary)).toEqual([])
  })

  test('leaves no server and no folder if it is killed, while another demo goes on', async () => {
    const [mine, other] = [openFolder(), openFolder()]
    const [killed, another] = [demo({ TMPDIR: mine }), demo({ TMPDIR: other })]
    for (const each of [killed, another]) await each.shows(READY)
    const [server, goesOn] = [serverBelow(mine), serverBelow(other)]
    killed.signal('SIGKILL')
    await until('its folder is removed', () => readdirSync(mine).length === 0, 30_000)
    expect([isAlive(server), isAlive(goesOn)]).toEqual([false, true])
    another.signal('SIGTERM')
    expect(await another.finished).toMatchObject({ code: 0, stderr: '' })
    expect([isAlive(goesOn), readdirSync(other)]).toEqual([false, []])
  })

  test.each([
    ['too long a path', 'x'.repeat(100)],
    ['a comma in its path', 'a,b'],
  ])('puts its folder into /tmp if a socket in TMPDIR would have %s', async (_, name) => {
    const temporary = join(openFolder(), name)
    mkdirSync(temporary, { mode: 0o777 })
    chmodSync(temporary, 0o777)
    const running = demo({ TMPDIR: temporary })
    await running.shows(
      /^DATABASE_URL=postgres:\/\/postgres@\/postgres\?host=\/(private\/)?tmp\/axport-postgres-\w+ /m,
    )
    running.signal('SIGINT')
    expect(await running.finished).toMatchObject({ code: 0, stderr: '' })
  })

  requires(POSTGRES_15).test('of the executable alone runs the Postgres of the machine', async () => {
    const temporary = openFolder()
    const running = await start(['demo'], { env: { PORT: '0', TMPDIR: temporary } })
    await running.shows(READY)
    const [folder = ''] = readdirSync(temporary)
    expect(readFileSync(join(temporary, folder, 'data/PG_VERSION'), 'utf8')).toMatch(/^1[5-9]\n$/)
    running.signal('SIGINT')
    expect(await running.finished).toMatchObject({ code: 0, stderr: '' })
    expect(readdirSync(temporary)).toEqual([])
  })

  requires(rightToMount()).test('without any Postgres says in one line how to get one', async () => {
    const hide =
      'for folder in /usr/lib/postgresql*; do mount -t tmpfs none "$folder"; done; PATH= exec "$0" demo'
    const command = ['unshare', '-m', 'sh', '-c', hide, await executable()]
    const env = { PATH: process.env.PATH ?? '', PORT: '0', TMPDIR: openFolder() }
    const { stdout, ...finished } = await ended(launch(command, { env }), {})
    expect(stdout).toBe('Preparing a database with sample data …\n')
    expect(errorLine({ ...finished, stdout: '' }, 1)).toMatch(
      /^there is no Postgres 15 or newer to start: install it \(apt install postgresql\), or use a checkout .* run demo brings its own$/,
    )
  })
})
