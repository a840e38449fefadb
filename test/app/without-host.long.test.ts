import { expect, test } from 'bun:test'
import { LIST, TOKEN } from '../support/http.ts'
import { dial } from '../support/raw.ts'
import { useServedWorld } from '../support/served.ts'

const world = useServedWorld({ ADMIN_PORT: '0' })

/** HTTP/1.0 does not require Host: the health checks of HAProxy and others omit it. */
async function statusOf(url: string, method: string, path: string): Promise<number | undefined> {
  const connection = dial(url)
  connection.write(`${method} ${path} HTTP/1.0\r\n\r\n`)
  try {
    return (await connection.next(method))?.status
  } finally {
    connection.destroy()
  }
}

test('a request of HTTP/1.0 without Host is answered on every port', async () => {
  const { admin, url, end } = await world.serve()
  const routes: [origin: string, path: string, status: number][] = [
    [admin, '/live', 200],
    [admin, '/ready', 200],
    [admin, '/metrics', 200],
    [admin, '/nothing', 404],
    [url, '/', 404],
    [url, LIST, 401],
    [url, `${LIST}?page=1`, 401],
    [url, `${LIST}/1`, 401],
    [url, TOKEN, 405],
    [url, '/docs', 200],
    [url, '/openapi.json', 200],
  ]
  for (const method of ['GET', 'HEAD'])
    for (const [origin, path, status] of routes)
      expect([method, path, await statusOf(origin, method, path)]).toEqual([method, path, status])
  expect(await statusOf(admin, 'OPTIONS', '/ready')).toBe(405)
  await end()
})

test('what is no valid HTTP/1.1 gets 400 or 505 from Bun, without a body, an id and a line in the log', async () => {
  const { url, log, end } = await world.serve()
  for (const [bytes, status] of [
    ['garbage\r\n\r\n', 400],
    ['GET /\r\n\r\n', 505],
    ['POST /oauth/token HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n', 400],
  ] as const) {
    const connection = dial(url)
    connection.write(bytes)
    expect((await connection.toEnd()).toString()).toMatch(
      new RegExp(`^HTTP/1.1 ${status} [^\r]+\r\nConnection: close\r\n\r\n$`),
    )
  }
  expect(log().filter(({ msg }) => msg === 'request')).toEqual([])
  await end()
})
