import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createServer } from 'node:net'
import {
  axport,
  cleanUp,
  complaint,
  emptyFolder,
  PATIENCE,
  type Running,
  start,
} from './support/executable.ts'
import { freePort } from './support/free-port.ts'
import { authorize, load, startService, type TestService } from './support/service.ts'

setDefaultTimeout(PATIENCE)

const LIST = '/api/v1/ax/assessments'

/** Only for its database and a token; the workers are processes of their own. */
let service: TestService
let env: Record<string, string>
let headers: { authorization: string; connection: string }

beforeAll(async () => {
  service = await startService('postgres')
  env = { DATABASE_URL: service.url, DATABASE_POOL_SIZE: '3' }
  await load(service.sql, [
    { type: 'organization', id: 12, name: 'Lakeside District' },
    { type: 'product', id: 7, name: 'Reading Observation' },
  ])
  const { token } = await authorize(service, [12], [7])
  // A new connection each, so that each may reach another worker.
  headers = { authorization: `Bearer ${token}`, connection: 'close' }
})
afterAll(async () => {
  await cleanUp()
  await service.close()
})

type Line = Record<string, unknown> & { msg: string }

/** The whole lines of its log so far; throws when one is not JSON. */
const logOf = (running: Running): Line[] =>
  running
    .stdout()
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line) as Line)

async function serveWithWorkers(workers: string, more: Record<string, string> = {}) {
  const running = await start(['serve', '--workers', workers], { env: { ...env, PORT: '0', ...more } })
  const [, url = ''] = await running.shows(/"url":"([^"]+)"/)
  return { ...running, url }
}

const list = (url: string) => fetch(`${url}${LIST}`, { headers })

/** The worker that listened last under `number`. */
const workerOf = (running: Running, number: number) =>
  logOf(running).findLast(line => line.msg === 'worker listening' && line.worker === number)

async function end(running: Running): Promise<void> {
  running.signal('SIGTERM')
  expect(await running.finished).toMatchObject({ code: 0, stderr: '' })
}

function isAlive(pid: number): boolean {
  // The state of a process that nobody has waited for yet is Z: it has ended.
  const { stdout } = Bun.spawnSync(['ps', '-o', 'stat=', '-p', String(pid)])
  return /^[^Z\s]/.test(stdout.toString())
}

async function untilGone(pids: number[]): Promise<void> {
  while (pids.some(isAlive)) await Bun.sleep(20)
}

describe('serve --workers', () => {
  test('serves from all of its workers, and numbers the lines of each', async () => {
    const running = await serveWithWorkers('2')
    expect(running.url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/)
    const served = () =>
      new Set(logOf(running).flatMap(line => (line.msg === 'request' ? [line.worker] : [])))
    while (served().size < 2) expect((await list(running.url)).status).toBe(200)
    expect([...served()].sort()).toEqual([1, 2])
    await end(running)
    for (const line of logOf(running)) expect(line.time).toBeString()
  })

  test('with auto starts a worker a core', async () => {
    const running = await serveWithWorkers('auto')
    const workers = logOf(running).filter(line => line.msg === 'worker listening').length
    expect(workers).toBe(navigator.hardwareConcurrency)
    await end(running)
  })

  test('replaces a worker that is killed, and serves on', async () => {
    const running = await serveWithWorkers('2')
    const before = workerOf(running, 1)?.pid as number
    process.kill(before, 'SIGKILL')
    await running.shows(/"worker":1,"pid":\d+,"how":"SIGKILL"/)
    await running.shows(/(?:"worker":1,"pid":\d+,"msg":"worker listening"[\s\S]*){2}/)
    expect(workerOf(running, 1)?.pid).not.toBe(before)
    for (let request = 0; request < 20; request++) expect((await list(running.url)).status).toBe(200)
    await end(running)
  })

  test.each(['SIGTERM', 'SIGINT'] as const)('answers every request that is in flight at %s', async signal => {
    const running = await serveWithWorkers('2')
    const lock = await service.sql.reserve()
    await lock`begin`
    await lock`lock table export_records in access exclusive mode`
    // As many as one worker has connections: should they all meet the same one, none waits for a connection.
    const inFlight = Array.from({ length: 3 }, () => list(running.url))
    while ((await lock`select from pg_locks where not granted`).length < 3) await Bun.sleep(10)
    running.signal(signal)
    await running.shows(/"stopping"/)
    expect(running.exitCode()).toBeUndefined()
    await lock`rollback`
    lock.release()
    expect((await Promise.all(inFlight)).map(answer => answer.status)).toEqual([200, 200, 200])
    expect(await running.finished).toMatchObject({ code: 0, stderr: '' })
  })

  test('ends at once, with all workers, at a second signal', async () => {
    const running = await serveWithWorkers('2')
    const pids = [1, 2].map(number => workerOf(running, number)?.pid as number)
    const lock = await service.sql.reserve()
    await lock`begin`
    await lock`lock table export_records in access exclusive mode`
    const inFlight = list(running.url).catch(() => undefined)
    while ((await lock`select from pg_locks where not granted`).length === 0) await Bun.sleep(10)
    running.signal('SIGTERM')
    await running.shows(/"stopping"/)
    running.signal('SIGTERM')
    expect((await running.finished).code).not.toBe(0)
    await untilGone(pids)
    await lock`rollback`
    lock.release()
    expect(await inFlight).toBeUndefined()
  })

  test('leaves no worker behind when it is killed with -9', async () => {
    const running = await serveWithWorkers('2')
    const pids = [1, 2].map(number => workerOf(running, number)?.pid as number)
    expect(pids.every(isAlive)).toBe(true)
    running.signal('SIGKILL')
    await running.finished
    await untilGone(pids)
    expect(await fetch(running.url).catch(error => error.code)).toBe('ECONNREFUSED')
  })

  test('ends in one line when its port is in use, by another program or by workers', async () => {
    const running = await serveWithWorkers('2')
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise(resolve => other.once('listening', resolve))
    const ports = [new URL(running.url).port, String((other.address() as { port: number }).port)]
    for (const port of ports) {
      const second = await axport(['serve', '--workers', '2'], { env: { ...env, PORT: port } })
      expect(complaint(second, 1)).toBe(
        `port ${port} on 127.0.0.1 is in use: stop what listens there, or set PORT to another one`,
      )
    }
    const alone = await axport(['serve'], { env: { ...env, PORT: ports[0] ?? '' } })
    expect(complaint(alone, 1)).toContain('is in use')
    other.close()
    await end(running)
  })

  test('ends in one line when its workers can not start', async () => {
    const port = await freePort()
    const DATABASE_URL = `postgres://postgres@127.0.0.1:${port}/x`
    const run = await axport(['serve', '--workers', '3'], { env: { ...env, DATABASE_URL } })
    expect(complaint(run, 1)).toStartWith('can not reach the database: nothing listens there')
  })

  test('refuses more than one process on the embedded database', async () => {
    const DATABASE_URL = 'embedded:./data'
    const run = await axport(['serve', '--workers', '2'], { env: { DATABASE_URL } })
    expect(complaint(run, 2)).toStartWith('the embedded database serves from one process')
  })

  test('with auto serves the embedded database from one process', async () => {
    const DATABASE_URL = `embedded:${emptyFolder()}`
    expect((await axport(['migrate'], { env: { DATABASE_URL } })).code).toBe(0)
    const running = await serveWithWorkers('auto', { DATABASE_URL })
    expect((await fetch(`${running.url}${LIST}`)).status).toBe(401)
    await running.shows(/"request"/)
    expect(logOf(running).map(line => line.msg)).toEqual(['listening', 'request'])
    await end(running)
  })

  test.each(['0', '-1', '1.5', 'all', '1000'])('is called wrongly with %s', async workers => {
    const run = await axport(['serve', `--workers=${workers}`], { env })
    expect(complaint(run, 2)).toContain('--workers')
  })

  test('is the only one to start workers', async () => {
    const run = await axport(['serve', '--worker', '1'], { env })
    expect(complaint(run, 2)).toContain('--workers')
  })

  test('works from source', async () => {
    const main = new URL('../src/main.ts', import.meta.url).pathname
    const child = Bun.spawn([process.execPath, main, 'serve', '--workers', '2'], {
      env: { ...env, PORT: '0' },
      stdout: 'pipe',
      stderr: 'inherit',
    })
    let text = ''
    let isServed = false
    for await (const chunk of child.stdout) {
      text += new TextDecoder().decode(chunk)
      const [, url] = /"url":"([^"]+)"/.exec(text) ?? []
      if (!url || isServed) continue
      isServed = true
      expect((await list(url)).status).toBe(200)
      child.kill('SIGTERM')
    }
    expect(await child.exited).toBe(0)
  })
})
