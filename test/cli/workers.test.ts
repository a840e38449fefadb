import { describe, expect, test } from 'bun:test'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { axport, emptyFolder, errorLine, launch } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { bearer, LIST, send } from '../support/http.ts'
import { type Served, serveWith, untilClosed, useServedWorld } from '../support/served.ts'
import { migratedFolder } from '../support/service.ts'
import { until } from '../support/until.ts'

const world = useServedWorld({ DATABASE_POOL_SIZE: '3' })
const serve = (...workers: string[]) => world.serve(['--workers', ...workers])

/** Sends requests on new connections, so that different workers may answer. */
const list = (url: string) => send(url, LIST, { headers: { ...bearer(world.token), connection: 'close' } })

/** The id of the last process that listened as worker `number`. */
const workerOf = (running: Served, number: number) =>
  running.log().findLast(line => line.msg === 'worker listening' && line.worker === number)?.pid as number

describe('serve --workers', () => {
  test('serves from all of its workers, and numbers the log lines of each', async () => {
    const running = await serve('2')
    expect(running.url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/)
    const served = () => new Set(running.log().flatMap(line => (line.msg === 'request' ? [line.worker] : [])))
    await until('both have served', async () => {
      expect((await list(running.url)).status).toBe(200)
      return served().size === 2
    })
    expect([...served()].sort()).toEqual([1, 2])
    await running.end()
    for (const line of running.log()) expect(line.time).toBeString()
  })

  test('with auto starts one worker per core', async () => {
    const running = await serve('auto')
    const workers = running.log().filter(line => line.msg === 'worker listening').length
    expect(workers).toBe(navigator.hardwareConcurrency)
    await running.end()
  })

  test('replaces a killed worker, and keeps serving', async () => {
    const running = await serve('2')
    const before = workerOf(running, 1)
    process.kill(before, 'SIGKILL')
    await running.shows(/"worker":1,"pid":\d+,"how":"SIGKILL"/)
    await running.shows(/(?:"worker":1,"pid":\d+,"disclosures":"off","msg":"worker listening"[\s\S]*){2}/)
    expect(workerOf(running, 1)).not.toBe(before)
    for (let request = 0; request < 20; request++) expect((await list(running.url)).status).toBe(200)
    await running.end()
  })

  test('leaves no worker behind if it is killed by SIGKILL: all sockets and database connections are closed', async () => {
    const connected = async () =>
      (
        await world.sql`
          select from pg_stat_activity where datname = current_database() and application_name = 'axport'`
      ).count
    const before = await connected()
    const running = await serve('2')
    await list(running.url)
    expect(await connected()).toBeGreaterThan(before)
    running.signal('SIGKILL')
    await running.finished
    await untilClosed(running.url)
    await until('no worker is connected', async () => (await connected()) <= before)
  })

  test('exits with one line if its port is in use by another process or by workers', async () => {
    const WORKERS = ['--workers', '2']
    const cases: [host: string, first: string[], seconds: string[][]][] = [
      ['127.0.0.1', WORKERS, [WORKERS, []]],
      ['127.0.0.1', [], [WORKERS]],
      [hostname(), [], [[]]],
    ]
    for (const [HOST, first, seconds] of cases) {
      const running = await world.serve(first, { HOST })
      const { port } = new URL(running.url)
      for (const second of seconds) {
        const late = await axport(['serve', ...second], { env: { ...world.env, HOST, PORT: port } })
        expect(errorLine(late, 1)).toBe(
          `port ${port} on ${HOST} is in use: stop its listener, or set another PORT`,
        )
      }
      await running.end()
    }
  })

  test('exits with one line if its workers cannot start', async () => {
    const port = await freePort()
    const DATABASE_URL = `postgres://postgres@127.0.0.1:${port}/x`
    const env = { ...world.env, DATABASE_URL }
    const run = await axport(['serve', '--workers', '3'], { env })
    expect(errorLine(run, 1)).toStartWith('cannot reach the database: nothing listens there')
  })

  test('refuses several processes on the embedded database', async () => {
    const DATABASE_URL = 'embedded:./data'
    const run = await axport(['serve', '--workers', '2'], { env: { DATABASE_URL } })
    expect(errorLine(run, 2)).toStartWith('the embedded database has one process: leave out --workers')
  })

  test('with auto serves the embedded database from one process', async () => {
    const folder = await migratedFolder()
    const running = await serveWith(['--workers', 'auto'], { DATABASE_URL: `embedded:${folder}` })
    expect((await send(running.url, LIST)).status).toBe(401)
    await running.shows(/"request"/)
    expect(running.log().map(line => line.msg)).toEqual(['listening', 'request'])
    await running.end()
  })

  test('runs from the sources, passes on what a worker writes on standard error while the worker runs, and keeps its last words', async () => {
    const preload = join(emptyFolder(), 'preload.ts')
    await Bun.write(
      preload,
      `if (process.argv.includes('--worker')) {
        process.on('SIGHUP', () => process.stderr.write('a warning of worker ' + process.argv.at(-1) + '\\n'))
        process.on('SIGWINCH', () => setTimeout(() => { throw new Error('told so') }))
      }`,
    )
    const main = new URL('../../src/main.ts', import.meta.url).pathname
    const env = { ...world.env, PORT: '0', SHUTDOWN_DELAY: '2', BUN_OPTIONS: `--preload=${preload}` }
    const running = launch([process.execPath, main, 'serve', '--workers', '2'], { env })
    const [, url = ''] = await running.shows(/"url":"([^"]+)".*"workers":2,"msg":"listening"/)
    expect((await list(url)).status).toBe(200)
    const worker = (number: number) =>
      Number(new RegExp(`"worker":${number},"pid":(\\d+)`).exec(running.stdout())?.[1])
    for (const number of [1, 2]) {
      process.kill(worker(number), 'SIGHUP')
      const warning = `a warning of worker ${number}\n`
      await until('its warning is passed on', () => running.stderr().endsWith(warning))
    }
    process.kill(worker(1), 'SIGWINCH')
    await running.shows(/"worker":1,"pid":\d+,"how":"exit code 1","complaint":"unexpected error: told so"/)
    running.signal('SIGTERM')
    await running.shows(/"msg":"stopping"/)
    process.kill(worker(2), 'SIGWINCH')
    await running.shows(/"worker":2,"pid":\d+,"how":"exit code 1","complaint":"unexpected error: told so"/)
    expect((await running.finished).stderr).not.toContain('told so')
  })
})
