import { describe, expect, test } from 'bun:test'
import { LIST } from '../support/http.ts'
import { dial } from '../support/raw.ts'
import { isClosed, untilClosed, useServedWorld, whileBlocked } from '../support/served.ts'
import { until } from '../support/until.ts'

const world = useServedWorld({ DATABASE_POOL_SIZE: '4', ADMIN_PORT: '0' })

/**
 * The results of a client that keeps one connection busy: its answers, and the requests without an answer.
 */
interface Met {
  answers: number
  cut: number
}

/**
 * Sends requests one after the other, and reconnects if an answer has Connection: close, until nothing
 * listens any more. The first request of a connection may stay unanswered, if the kernel accepted the
 * connection for a server that no longer accepts.
 */
async function busyClient(url: string): Promise<Met> {
  const met: Met = { answers: 0, cut: 0 }
  const request = `GET ${LIST} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${world.token}\r\n\r\n`
  for (let isOver = false; !isOver; ) {
    const connection = dial(url)
    for (let isFirst = true, isLast = false; !isLast; isFirst = false) {
      connection.write(request)
      const answer = await connection.next()
      if (answer) met.answers++
      else if (isFirst) isOver = await isClosed(url)
      else met.cut++
      isLast = !answer || answer.headers.get('connection') === 'close'
    }
    connection.destroy()
  }
  return met
}

describe('serve, at SIGTERM,', () => {
  test('first fails /ready and serves for SHUTDOWN_DELAY, with Connection: close', async () => {
    const running = await world.serve([], { SHUTDOWN_DELAY: '1' })
    const before = await world.list(running)
    expect([before.status, before.headers.get('connection')]).toEqual([200, null])
    running.signal('SIGTERM')
    await running.shows(/"stopping"/)
    const signalled = performance.now()
    const ready = await fetch(`${running.admin}/ready`)
    expect(ready.status).toBe(503)
    const { checks } = (await ready.json()) as { checks: object[] }
    expect(checks[0]).toEqual({ check: 'service', status: 'wrong', detail: 'it is stopping' })
    expect((await fetch(`${running.admin}/live`)).status).toBe(200)
    const after = await world.list(running)
    expect([after.status, after.headers.get('connection')]).toEqual([200, 'close'])
    expect(await running.finished).toMatchObject({ code: 0, stderr: '' })
    expect(performance.now() - signalled).toBeGreaterThan(900)
  })

  test('answers every request of clients that are busy on open connections', async () => {
    const running = await world.serve([], { SHUTDOWN_DELAY: '1' })
    const clients = Array.from({ length: 8 }, () => busyClient(running.url))
    await until(
      '200 requests are logged',
      () => running.stdout().split('"msg":"request"').length > 200,
      60_000,
    )
    running.signal('SIGTERM')
    const met = await Promise.all(clients)
    expect(met.reduce((sum, { answers }) => sum + answers, 0)).toBeGreaterThan(200)
    expect(met.map(({ cut }) => cut)).toEqual(met.map(() => 0))
    expect(await running.finished).toMatchObject({ code: 0, stderr: '' })
  })

  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s, answers all open requests with Connection: close, however slow, and accepts no connections',
    async signal => {
      const running = await world.serve()
      // Of a list that is not counted yet, only one request would wait in the database.
      await world.list(running)
      let inFlight: ReturnType<typeof world.list>[] = []
      await whileBlocked(world.sql, async waiting => {
        inFlight = [world.list(running), world.list(running)]
        await waiting(2)
        running.signal(signal)
        await running.shows(/"stopping"/)
        await untilClosed(running.url)
        expect(running.exitCode()).toBeUndefined()
      })
      const answers = await Promise.all(inFlight)
      expect(answers.map(({ status, headers }) => [status, headers.get('connection')])).toEqual([
        [200, 'close'],
        [200, 'close'],
      ])
      expect(await running.finished).toMatchObject({ code: 0, stderr: '' })
    },
  )

  test('exits immediately at a second signal', async () => {
    const running = await world.serve([], { SHUTDOWN_DELAY: '600' })
    running.signal('SIGTERM')
    await running.shows(/"stopping"/)
    running.signal('SIGTERM')
    expect((await running.finished).code).toBe(143)
    await untilClosed(running.url)
  })
})
