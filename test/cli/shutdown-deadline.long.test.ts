import { describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { send } from '../support/http.ts'
import { useServedWorld, whileBlocked } from '../support/served.ts'

const world = useServedWorld()

describe('serve, seven seconds after SIGTERM,', () => {
  test('cuts unfinished requests, and logs their number', async () => {
    const running = await world.serve()
    await whileBlocked(world.sql, async waiting => {
      const inFlight = world.list(running).catch(error => error)
      await waiting(1)
      running.signal('SIGTERM')
      expect(await running.finished).toMatchObject({ code: 0, stderr: '' })
      expect(await inFlight).toBeInstanceOf(Error)
    })
    expect(running.stdout()).toMatch(/"requests":1,"msg":"requests in flight took too long/)
  })

  test('exits although connections stay open, also in the middle of a request', async () => {
    const post =
      'POST /oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n'
    const [request, idle] = ['GET / HTTP/1.1\r\nhost:', 'GET / HTTP/1.1\r\nhost: x\r\n\r\n']
    const server = await world.serve()
    const sockets = ['', 'GET /api', request, `${post}{"grant`, idle].map(async text => {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => {})
      await new Promise(resolve => socket.once('connect', resolve))
      socket.write(text)
      return socket
    })
    const open = await Promise.all(sockets)
    // A later request on another connection, so that the server has certainly read the earlier ones.
    await send(server.url, '/')
    await server.end()
    for (const socket of open) socket.destroy()
  })
})
