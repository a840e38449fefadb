import { afterAll, describe, expect, test } from 'bun:test'
import { closeSync, constants, existsSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import {
  axport,
  cleanUp,
  emptyFolder,
  ended,
  executable,
  launch,
  type Running,
  start,
} from '../support/executable.ts'
import { ndjsonOf, organization, proctor, range } from '../support/fixtures.ts'
import { everything, importLines, useDatabase } from '../support/import.ts'
import { until } from '../support/until.ts'

afterAll(cleanUp)

const TWO = ndjsonOf([organization(12), proctor(77)])
const INTERRUPTED = { code: 130, stdout: '', stderr: 'axport: interrupted: nothing was loaded\n' }

describe('axport import', () => {
  const database = useDatabase()
  const folder = emptyFolder()

  const begin = async (args: string[], text = ''): Promise<Running> => {
    const env = { DATABASE_URL: database.url }
    const running = await start(['import', ...args], { env, stdin: 'open' })
    void running.stdin.write(text)
    return running
  }

  const hasBegun = (isTrue = true) =>
    until(`the import ${isTrue ? 'has begun' : 'is over'}`, async () => {
      const { sql } = database
      const { count } = await sql`
        select from pg_locks where locktype = 'advisory' and granted
          and database = (select oid from pg_database where datname = current_database())`
      return count > 0 === isTrue
    })

  test.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
    'leaves the database unchanged after %s during its reading, and the next import runs',
    async signal => {
      await importLines(database.sql, organization(1))
      const before = await everything(database.sql)
      const rejects = join(folder, 'rejects.ndjson')
      const lines = ndjsonOf(range(20_000, id => organization(id + 1)))
      const running = await begin(['-', '--rejects', rejects], lines)
      await hasBegun()
      running.signal(signal)
      if (signal === 'SIGKILL') expect((await running.finished).code).toBe(137)
      else expect(await running.finished).toEqual(INTERRUPTED)
      expect(existsSync(rejects)).toBe(false)
      await hasBegun(false)
      expect(await everything(database.sql)).toEqual(before)
      const next = axport(['import', '-'], { env: { DATABASE_URL: database.url }, stdin: { text: TWO } })
      expect((await next).code).toBe(0)
    },
  )

  test('prints that it waits for another import, and continues after the end of that import', async () => {
    const first = await begin(['-'], TWO)
    await hasBegun()
    const second = await begin(['-'], TWO)
    second.stdin.end()
    await until('the second says that it waits', () => /^waiting for /.test(second.stderr()))
    expect(second.exitCode()).toBeUndefined()
    first.stdin.end()
    expect(await first.finished).toMatchObject({ code: 0 })
    const { code, stdout } = await second.finished
    expect([code, stdout.split('\n')[0]]).toEqual([0, 'loaded 2 lines'])
  })

  test('ends by the next Ctrl-C when all is loaded and nobody reads its result', async () => {
    const path = join(emptyFolder(), 'full')
    Bun.spawnSync(['mkfifo', path])
    const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
    expect(() => {
      for (;;) writeSync(pipe, Buffer.alloc(4096))
    }).toThrow('EAGAIN')
    const file = join(folder, 'one-good-line.ndjson')
    await Bun.write(file, `${ndjsonOf([organization(13)])}{}\n`)
    const line = `exec "$0" import ${file} --rejects ${join(folder, 'left-out.ndjson')} >${path}`
    const command = ['/bin/sh', '-c', line, await executable()]
    const running = launch(command, { env: { DATABASE_URL: database.url } })
    await until('its notes are printed', () => running.stderr().includes('note: rejected: 1'))
    running.signal('SIGINT')
    expect((await ended(running, { timeoutMs: 10_000 })).code).toBe(130)
    closeSync(pipe)
  })
})
