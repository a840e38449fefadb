import { describe, expect, test } from 'bun:test'
import { hostname } from 'node:os'
import { axport, errorLine, start } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { LIST, send } from '../support/http.ts'
import { useServedWorld } from '../support/served.ts'
import { until } from '../support/until.ts'

const world = useServedWorld()

describe('axport serve', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('exits with 0 after %s, as soon as it listens', async signal => {
    const server = await world.serve()
    server.signal(signal)
    expect(await server.finished).toMatchObject({ code: 0, stderr: '' })
    expect(server.log().at(-1)).toMatchObject({ msg: 'stopping', signal })
    expect(await fetch(server.url).catch(error => error.code)).toBe('ECONNREFUSED')
  })

  test('opens a connection before the first request needs one', async () => {
    const isOpen = async () => {
      const { count } = await world.sql`
        select from pg_stat_activity
        where datname = current_database() and application_name = 'axport' and query = 'select 1'`
      return count === 1
    }
    // The first purge uses it after a second, which may pass before the look: then another process is looked at.
    await until('a process has a connection that no request has used', async () => {
      const server = await world.serve()
      try {
        return await until('it is open', isOpen, 900)
      } finally {
        await server.end()
      }
    })
  })

  test('logs nothing below LOG_LEVEL', async () => {
    const port = String(await freePort())
    const server = await start(['serve'], { env: { ...world.env, LOG_LEVEL: 'warn', PORT: port } })
    await until('it answers', () => fetch(`http://127.0.0.1:${port}`))
    server.signal('SIGTERM')
    expect(await server.finished).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  test('exits with one line if its port is in use', async () => {
    for (const HOST of ['127.0.0.1', hostname()]) {
      const running = await world.serve([], { HOST })
      const { port } = new URL(running.url)
      const late = await axport(['serve'], { env: { ...world.env, HOST, PORT: port } })
      expect(errorLine(late, 1)).toBe(
        `port ${port} on ${HOST} is in use: stop its listener, or set another PORT`,
      )
      await running.end()
    }
  })

  test('listens on every address or on IPv6 if HOST says so', async () => {
    for (const HOST of ['0.0.0.0', '::1']) {
      const server = await world.serve([], { HOST })
      const { port } = new URL(server.url)
      const reached = HOST === '::1' ? server.url : `http://127.0.0.1:${port}`
      expect((await send(reached, LIST)).status).toBe(401)
      await server.end()
    }
  })
})
