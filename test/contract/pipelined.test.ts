import { expect, test } from 'bun:test'
import { world } from '../support/fixtures.ts'
import { dial } from '../support/raw.ts'
import { until } from '../support/until.ts'
import { contract, LIST, SCOPE, TOKEN } from './support/contract.ts'

const setup = { lines: world(), integrations: { main: SCOPE } } as const

// docs/integrate/errors.md says what Bun does with a request that comes before the answer to the one before it.
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
})
