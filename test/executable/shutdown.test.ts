import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { connect } from 'node:net'
import { assessment, world } from '../contract/support/lines.ts'
import { cleanUp, PATIENCE, type Running, start } from '../support/executable.ts'
import { authorize, load, startService, type TestService } from '../support/service.ts'

setDefaultTimeout(PATIENCE)

const LIST = '/api/v1/ax/assessments'

/** Only for its database and a token: what is tested are processes of their own. */
let service: TestService
let env: Record<string, string>
let authorization: string

beforeAll(async () => {
  service = await startService('postgres')
  env = { DATABASE_URL: service.url, DATABASE_POOL_SIZE: '4', PORT: '0', ADMIN_PORT: '0' }
  await load(service.sql, [...world(), assessment(9001)])
  authorization = `Bearer ${(await authorize(service, [10], [1])).token}`
})
afterAll(async () => {
  await cleanUp()
  await service.close()
})

interface Served extends Running {
  url: string
  admin: string
}

async function serve(args: string[], more: Record<string, string> = {}): Promise<Served> {
  const running = await start(['serve', ...args], { env: { ...env, ...more } })
  const [, url = '', admin = ''] = await running.shows(/"url":"([^"]+)","admin":"([^"]+)"/)
  return { ...running, url, admin }
}

/** Runs `work` while the export can not be read, so that every request for it waits. */
async function whileBlocked(
  work: (waiting: (count: number) => Promise<void>) => Promise<void>,
): Promise<void> {
  const lock = await service.sql.reserve()
  await lock`begin`
  await lock`lock table export_records in access exclusive mode`
  try {
    await work(async count => {
      while ((await lock`select from pg_locks where not granted`).length < count) await Bun.sleep(10)
    })
  } finally {
    await lock`rollback`
    lock.release()
  }
}

/** What a client that keeps one connection busy met: answers, and requests that were never answered. */
interface Met {
  answers: number
  cut: number
}

/**
 * Sends request after request, each as soon as the one before is answered, and connects again when an answer
 * asks for that; ends when nobody listens any more. The first request of a connection may go unanswered: the
 * kernel took it for a server that has just stopped to accept.
 */
async function busyClient(url: string): Promise<Met> {
  const met: Met = { answers: 0, cut: 0 }
  for (let isOver = false; !isOver; ) {
    await new Promise<void>(resolve => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      let [sent, answered, text] = [0, 0, '']
      const send = () => {
        sent++
        socket.write(`GET ${LIST} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: ${authorization}\r\n\r\n`)
      }
      socket.on('connect', send)
      socket.on('data', chunk => {
        text += chunk.toString('latin1')
        const [head, length] = /^[\s\S]*?content-length: (\d+)[\s\S]*?\r\n\r\n/i.exec(text) ?? []
        if (head === undefined || text.length < head.length + Number(length)) return
        answered++
        text = ''
        if (!/^connection: close/im.test(head)) send()
      })
      socket.on('error', error => {
        isOver = (error as { code?: string }).code === 'ECONNREFUSED'
      })
      socket.on('close', () => {
        met.answers += answered
        if (sent > 1 && sent > answered) met.cut++
        resolve()
      })
    })
  }
  return met
}

describe.each([[[]], [['--workers', '2']]])('serve %p, at SIGTERM,', args => {
  test('fails /ready first and serves on for SHUTDOWN_DELAY, with Connection: close', async () => {
    const running = await serve(args, { SHUTDOWN_DELAY: '2' })
    const list = () => fetch(`${running.url}${LIST}`, { headers: { authorization } })
    const before = await list()
    expect([before.status, before.headers.get('connection')]).toEqual([200, null])
    running.signal('SIGTERM')
    await running.shows(/"stopping"/)
    const signalled = performance.now()
    const ready = await fetch(`${running.admin}/ready`)
    expect(ready.status).toBe(503)
    const { checks } = (await ready.json()) as { checks: object[] }
    expect(checks[0]).toEqual({ check: 'service', status: 'wrong', detail: 'it is stopping' })
    expect((await fetch(`${running.admin}/live`)).status).toBe(200)
    let answer = await list()
    // A worker learns of it a moment after its supervisor.
    while (answer.headers.get('connection') !== 'close') answer = await list()
    expect(answer.status).toBe(200)
    expect(await running.finished).toMatchObject({ code: 0, stderr: '' })
    expect(performance.now() - signalled).toBeGreaterThan(1900)
  })

  test('cuts no request of clients that are busy on open connections', async () => {
    const running = await serve(args, { SHUTDOWN_DELAY: '1' })
    const clients = Array.from({ length: 8 }, () => busyClient(running.url))
    while (running.stdout().split('"msg":"request"').length <= 200) await Bun.sleep(10)
    running.signal('SIGTERM')
    const met = await Promise.all(clients)
    expect(met.reduce((sum, { answers }) => sum + answers, 0)).toBeGreaterThan(200)
    expect(met.map(({ cut }) => cut)).toEqual(met.map(() => 0))
    expect(await running.finished).toMatchObject({ code: 0, stderr: '' })
  })

  test('answers what is in flight with Connection: close, however long it took', async () => {
    const running = await serve(args)
    let inFlight: Promise<Response> | undefined
    await whileBlocked(async waiting => {
      inFlight = fetch(`${running.url}${LIST}`, { headers: { authorization } })
      await waiting(1)
      running.signal('SIGTERM')
      await running.shows(/"stopping"/)
      while (
        await fetch(running.url).then(
          () => true,
          () => false,
        )
      )
        await Bun.sleep(10)
    })
    const answer = await inFlight
    expect([answer?.status, answer?.headers.get('connection')]).toEqual([200, 'close'])
    expect(await running.finished).toMatchObject({ code: 0, stderr: '' })
  })

  test('cuts what is not finished after SHUTDOWN_TIMEOUT, and says so', async () => {
    const running = await serve(args, { SHUTDOWN_TIMEOUT: '1' })
    await whileBlocked(async waiting => {
      const inFlight = fetch(`${running.url}${LIST}`, { headers: { authorization } }).catch(error => error)
      await waiting(1)
      running.signal('SIGTERM')
      expect(await running.finished).toMatchObject({ code: 0, stderr: '' })
      expect(await inFlight).toBeInstanceOf(Error)
    })
    expect(running.stdout()).toMatch(/"requests":1,"msg":"SHUTDOWN_TIMEOUT is over/)
  })

  test('ends at once when a second signal comes', async () => {
    const running = await serve(args, { SHUTDOWN_DELAY: '600' })
    running.signal('SIGTERM')
    await running.shows(/"stopping"/)
    running.signal('SIGTERM')
    expect((await running.finished).code).not.toBe(0)
    while (
      await fetch(running.url).then(
        () => true,
        () => false,
      )
    )
      await Bun.sleep(10)
  })
})

test('a worker that hangs is killed after the deadline, and one line says so', async () => {
  const running = await serve(['--workers', '2'], { SHUTDOWN_TIMEOUT: '1' })
  const [, pid] = /"worker":2,"pid":(\d+)/.exec(running.stdout()) ?? []
  process.kill(Number(pid), 'SIGSTOP')
  running.signal('SIGTERM')
  expect(await running.finished).toMatchObject({
    code: 1,
    stderr: 'axport: a worker did not end within SHUTDOWN_TIMEOUT and was killed\n',
  })
})
