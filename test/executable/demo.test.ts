import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import {
  axport,
  cleanUp,
  complaint,
  emptyFolder,
  PATIENCE,
  type Running,
  shell,
  start,
} from '../support/executable.ts'

setDefaultTimeout(PATIENCE)
afterAll(cleanUp)

interface Demo extends Running {
  url: string
  /** The commands it prints for pasting. */
  commands: string[]
  /** Where its temporary folder is. */
  temporary: string
}

async function demo(env: Record<string, string>): Promise<Demo> {
  const temporary = emptyFolder()
  const running = await start(['demo'], { env: { PORT: '0', TMPDIR: temporary, ...env } })
  const [, url = ''] = await running.shows(/sample assessments at (http:\S+)\. Paste/)
  await running.shows(/Ctrl-C/)
  const commands = running
    .stdout()
    .split('\n')
    .filter(line => /^(TOKEN=|curl )/.test(line))
  return { ...running, url, commands, temporary }
}

async function stop(demo: Demo): Promise<void> {
  demo.signal('SIGINT')
  expect(await demo.finished).toMatchObject({ code: 0, stderr: '' })
  expect(readdirSync(demo.temporary)).toEqual([])
}

describe('demo', () => {
  test('prints curl lines that work when they are pasted as they are, and removes its folder after Ctrl-C', async () => {
    // Which takes no notice of the database that is set.
    const running = await demo({ DATABASE_URL: 'nonsense', DATABASE_URL_FILE: '/nowhere' })
    expect(running.commands).toHaveLength(4)
    const [docs] = /^http:\S+\/docs$/m.exec(running.stdout()) ?? []
    expect((await fetch(docs ?? '')).status).toBe(200)
    expect(readdirSync(running.temporary)).toHaveLength(1)
    const { code, stdout, stderr } = await shell(
      running.commands
        .flatMap(line => [line, line.startsWith('TOKEN=') ? 'echo "$TOKEN"' : 'echo'])
        .join('\n'),
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const [token, first, one, filtered] = stdout.trimEnd().split('\n')
    expect(token).toMatch(/^[A-Za-z0-9]{43}$/)
    const page = JSON.parse(first ?? '') as { data: { id: number }[] }
    expect(page).toMatchObject({ meta: { count: 2000, offset: 0, page: 2 } })
    expect(page.data).toHaveLength(2)
    expect(JSON.parse(one ?? '')).toMatchObject({ id: page.data[0]?.id, results: expect.any(Array) })
    const found = JSON.parse(filtered ?? '') as {
      data: { assessment_name: string }[]
      meta: { count: number }
    }
    expect(found.meta.count).toBeGreaterThan(2)
    expect(found.data).toHaveLength(2)
    for (const record of found.data) expect(JSON.stringify(record)).toMatch(/observation/i)
    await stop(running)
  })

  test('that is interrupted while it prepares removes its folder too', async () => {
    const temporary = emptyFolder()
    const running = await start(['demo'], { env: { PORT: '0', TMPDIR: temporary } })
    await running.shows(/Preparing/)
    while (readdirSync(temporary).length === 0) await Bun.sleep(5)
    running.signal('SIGINT')
    await running.finished
    expect(readdirSync(temporary)).toEqual([])
  })

  test('ends in one line when its port is in use, and removes its folder', async () => {
    const temporary = emptyFolder()
    const other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
    const finished = await axport(['demo'], { env: { PORT: String(other.port), TMPDIR: temporary } })
    await other.stop(true)
    expect(complaint({ ...finished, stdout: '' }, 1)).toMatch(/^port \d+ on 127\.0\.0\.1 is in use: .*PORT/)
    expect(readdirSync(temporary)).toEqual([])
  })

  test('says what is wrong with a setting before it prepares anything', async () => {
    const finished = await axport(['demo'], { env: { PORT: 'nonsense', TMPDIR: emptyFolder() } })
    expect(finished).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^axport: PORT must be [^\n]*\n$/),
    })
  })
})
