import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { selfSigned } from '../support/certificate.ts'
import { axport, emptyFolder, errorLine, start } from '../support/executable.ts'
import { freePort } from '../support/free-port.ts'
import { LIST, send } from '../support/http.ts'
import { useServedWorld } from '../support/served.ts'
import { until } from '../support/until.ts'

const world = useServedWorld()

function fileOf(text: string): string {
  const file = join(emptyFolder(), 'file')
  writeFileSync(file, text)
  return file
}

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

  test.each([
    ['a certificate that ended yesterday', -1, 'ended on DAY, so clients refuse it'],
    ['a certificate that ends in 13 days', 13, 'ends on DAY, within 14 days'],
    ['no certificate that ends in 15 days', 15, undefined],
  ])('names in its first line, and with --check, %s', async (_, days, said) => {
    const ends = new Date(Date.now() + days * 86_400_000)
    const { cert, key } = selfSigned('axport', '127.0.0.1', 'ec', ends)
    const end = said?.replace('DAY', ends.toISOString().slice(0, 10))
    const [TLS_CERT_FILE, TLS_KEY_FILE] = [fileOf(cert), fileOf(key)]
    const server = await world.serve([], { TLS_CERT_FILE, TLS_KEY_FILE })
    expect(server.log()[0]).toMatchObject({ msg: 'listening' })
    expect(server.log()[0]?.certificate).toBe(end)
    await server.end()
    const env = { ...world.env, TLS_CERT_FILE, TLS_KEY_FILE }
    const { code, stdout } = await axport(['serve', '--check'], { env })
    const warning = end === undefined ? [] : [`certificate: warning: it ${end}`]
    expect([code, stdout.split('\n').slice(0, -2)]).toEqual([0, warning])
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
    for (const [HOST, shown] of [
      ['0.0.0.0', '0.0.0.0'],
      ['*', '[::]'],
      ['::1', '[::1]'],
      ['[::1]', '[::1]'],
    ] as const) {
      const server = await world.serve([], { HOST })
      const { port } = new URL(server.url)
      expect(server.url).toBe(`http://${shown}:${port}`)
      const reached = shown === '[::1]' ? server.url : `http://127.0.0.1:${port}`
      expect((await send(reached, LIST)).status).toBe(401)
      await server.end()
    }
  })
})
