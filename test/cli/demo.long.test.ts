import { afterAll, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cleanUp, emptyFolder, shell, start } from '../support/executable.ts'
import { until } from '../support/until.ts'

afterAll(cleanUp)

const README = readFileSync(join(import.meta.dir, '../../README.md'), 'utf8')

describe('axport demo', () => {
  test('prints curl commands that work when pasted, and removes its folder after Ctrl-C', async () => {
    // demo ignores these settings.
    const foreign = { DATABASE_URL: 'nonsense', DATABASE_URL_FILE: '/nowhere' }
    const temporary = emptyFolder()
    const running = await start(['demo'], { env: { PORT: '0', TMPDIR: temporary, ...foreign } })
    await running.shows(/sample assessments at http:\S+\. Paste[\s\S]*Ctrl-C/)
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
    // The record that the README shows.
    const [, shown = ''] = /^```json\n([\s\S]*?)^```/m.exec(README) ?? []
    const { id } = JSON.parse(shown) as { id: number }
    const get = (commands[2] ?? '').replace(/\d+$/, String(id))
    const { stdout: record } = await shell(`${commands[0]}\n${get}`)
    expect(record).toBe(JSON.stringify(JSON.parse(shown)))
    expect(found.meta.count).toBeGreaterThan(2)
    expect(found.data).toHaveLength(2)
    for (const record of found.data) expect(JSON.stringify(record)).toMatch(/observation/i)
    running.signal('SIGINT')
    expect(await running.finished).toMatchObject({ code: 0, stderr: '' })
    expect(readdirSync(temporary)).toEqual([])
  })

  test('removes its folder if it is interrupted during the preparation', async () => {
    const temporary = emptyFolder()
    const running = await start(['demo'], { env: { PORT: '0', TMPDIR: temporary } })
    await running.shows(/Preparing/)
    await until('its folder is there', () => readdirSync(temporary).length)
    running.signal('SIGINT')
    await running.finished
    expect(readdirSync(temporary)).toEqual([])
  })
})
