import { expect, test } from 'bun:test'
import { LIST, TOKEN } from '../support/http.ts'
import { dial } from '../support/raw.ts'
import { useServedWorld } from '../support/served.ts'

const world = useServedWorld({ ADMIN_PORT: '0' })

/** HTTP/1.0 needs no Host: HAProxy and other checks of health leave it out. */
async function statusOf(url: string, method: string, path: string): Promise<number | undefined> {
  const connection = dial(url)
  connection.write(`${method} ${path} HTTP/1.0\r\n\r\n`)
  try {
    return (await connection.next(method))?.status
  } finally {
    connection.destroy()
  }
}

test('a request of HTTP/1.0 without a Host is answered on every port, and never by a 500', async () => {
  const served = await world.serve()
  for (const method of ['GET', 'HEAD']) {
    for (const path of ['/live', '/ready', '/metrics'])
      expect([method, path, await statusOf(served.admin, method, path)]).toEqual([method, path, 200])
    expect(await statusOf(served.admin, method, '/nothing')).toBe(404)
    for (const path of ['/', LIST, `${LIST}?page=1`, `${LIST}/1`, TOKEN, '/docs', '/openapi.json'])
      expect(await statusOf(served.url, method, path)).toBeOneOf([200, 401, 404, 405])
  }
  expect(await statusOf(served.admin, 'OPTIONS', '/ready')).toBe(405)
  await served.end()
})
