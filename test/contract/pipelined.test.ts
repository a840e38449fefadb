import { expect, test } from 'bun:test'
import { world } from '../support/fixtures.ts'
import { dial } from '../support/raw.ts'
import { until } from '../support/until.ts'
import { contract, LIST, SCOPE, TOKEN } from './support/contract.ts'

const setup = { lines: world(), integrations: { main: SCOPE } } as const
const BARE_400 = 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'

// docs/integrate/reference.md says what Bun does with a request that comes before the answer to the one before it. That is a
// limit, which https://github.com/oven-sh/bun/pull/38128 removes. nginx and HAProxy answer such requests in order.
contract('A request that is sent before the answer to the one before it', setup, api => {
  const tokenRequest = (...more: string[]) => {
    const body = new URLSearchParams(api.credentials()).toString()
    const head = [`POST ${TOKEN} HTTP/1.1`, 'Host: x', 'Content-Type: application/x-www-form-urlencoded']
    return [...head, ...more, `Content-Length: ${body.length}`, '', body].join('\r\n')
  }
  const hungUp = () => api.service.logged().split('"status":499').length - 1

  test('ends the connection without an answer', async () => {
    for (let turn = 0; turn < 20; turn++) {
      const known = hungUp()
      const connection = dial(api.service.baseUrl)
      connection.write(tokenRequest() + tokenRequest())
      expect((await connection.toEnd()).toString()).toBe('')
      await until('the log has the request', () => hungUp() > known)
    }
  })

  test('is answered, or breaks off and is logged, whenever it arrives', async () => {
    for (let turn = 0; turn < 30; turn++) {
      const known = hungUp()
      const connection = dial(api.service.baseUrl)
      connection.write(tokenRequest())
      for (let pause = 0; pause < turn; pause++) await new Promise(resolve => setImmediate(resolve))
      connection.write(tokenRequest('Connection: close'))
      const answers = (await connection.toEnd()).toString().split('HTTP/1.1 200').length - 1
      if (answers < 2) await until('the log has the request that broke off', () => hungUp() > known)
    }
  })

  test('is answered in order if it follows the answer', async () => {
    const connection = dial(api.service.baseUrl)
    for (const status of [200, 200]) {
      connection.write(tokenRequest())
      expect((await connection.next('POST'))?.status).toBe(status)
    }
    connection.write(`GET ${LIST} HTTP/1.1\r\nHost: x\r\n\r\n`)
    expect((await connection.next())?.status).toBe(401)
    connection.destroy()
  })

  test('is a bare 400 in the place of the answer if it is a line end, or the trailers of a body', async () => {
    const body = new URLSearchParams(api.credentials()).toString()
    const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n`
    const head = `POST ${TOKEN} HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n`
    for (const sent of [
      `${tokenRequest()}\r\n`,
      `${head}Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n${chunks}X-Sum: 1\r\n\r\n`,
    ]) {
      const known = hungUp()
      const connection = dial(api.service.baseUrl)
      connection.write(sent)
      expect((await connection.toEnd()).toString()).toBe(BARE_400)
      await until('the log has the request that broke off', () => hungUp() > known)
    }
  })

  test('finds the service by the first of two Host headers', async () => {
    const connection = dial(api.service.baseUrl)
    connection.write(`GET ${LIST} HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n`)
    expect((await connection.next())?.status).toBe(401)
    connection.destroy()
  })
})
