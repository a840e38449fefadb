import { afterAll, describe, expect, test } from 'bun:test'
import { closeSync, constants, existsSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { LOCKS } from '../../src/database/advisory-locks.ts'
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

  /** Whether lines are staged: their table is created in a transaction that then waits for more. */
  const hasBegun = (isTrue = true) =>
    until(`the import ${isTrue ? 'has begun' : 'is over'}`, async () => {
      const { count } = await database.sql`
        select from pg_stat_activity
        where datname = current_database() and state = 'idle in transaction' and query like '%import_texts%'`
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

  test('takes its turn once it has read a pipe to its end, prints that it waits, and continues after that', async () => {
    const other = await database.sql.reserve()
    await other`select pg_advisory_lock(${LOCKS.import})`
    const running = await begin(['-'], TWO)
    await hasBegun()
    expect(running.stderr()).toBe('')
    running.stdin.end()
    await until(
      'it says that it waits',
      () => running.stderr() === 'waiting for another import to finish …\n',
    )
    await other`select pg_advisory_unlock(${LOCKS.import})`
    other.release()
    const { code, stdout } = await running.finished
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
