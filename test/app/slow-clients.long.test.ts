import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import pino from 'pino'
import { LIST } from '../support/http.ts'
import { dial } from '../support/raw.ts'
import { listen, openTestDatabase, type TestDatabase } from '../support/service.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database.close())

/**
 * The answer to a client that sends these parts and then nothing, until the service closes, and how long that took.
 */
async function closing(url: string, parts: string[], pause = 0): Promise<{ answer: string; ms: number }> {
  const begin = performance.now()
  const connection = dial(url)
  for (const part of parts) {
    if (connection.isClosed) break
    connection.write(part)
    await Bun.sleep(pause)
  }
  const answer = await connection.toEnd(60_000)
  return { answer: answer.toString(), ms: performance.now() - begin }
}

const JSON_OF_99 =
  'POST /oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n'

// Each test has its own service, so that all tests can wait at the same time.
test.concurrent('a request gets 408 if its body does not arrive in time, even if single bytes arrive', async () => {
  const service = listen(database, pino({ enabled: false }), { bodyTimeMs: 500 })
  const trickle = [JSON_OF_99, ...'{"grant_type":"client_credentials"']
  const clients = [closing(service.url, [JSON_OF_99]), closing(service.url, trickle, 50)]
  for (const { answer, ms } of await Promise.all(clients)) {
    expect(answer).toStartWith('HTTP/1.1 408')
    expect(answer.toLowerCase()).toContain('connection: close')
    expect(answer).toContain(
      '"error":"invalid_request","error_description":"The body took longer than 0.5 s"',
    )
    expect(ms).toBeGreaterThan(400)
  }
  await service.stop()
})

describe('a connection is closed without an answer', () => {
  test.concurrent('if no byte moves on it for a while', async () => {
    const limits = { idleMs: 6000, waitMs: 500, statementMs: 500 }
    const service = listen(database, pino({ enabled: false }), limits)
    const { answer, ms } = await closing(service.url, ['GET / HTTP/1.1\r\nhost: x\r\n\r\n'])
    expect(answer).toStartWith('HTTP/1.1 404')
    // Bun checks its connections every four seconds.
    expect(ms).toBeGreaterThan(4000)
    await service.stop()
  })

  test.concurrent('if the headers of its first request take longer than about twelve seconds, even if single bytes arrive', async () => {
    const service = listen(database, pino({ enabled: false }))
    const trickle = [`GET ${LIST} HTTP/1.1\r\nhost: x\r\nx-slow: `, ...'x'.repeat(40)]
    const clients = [closing(service.url, []), closing(service.url, trickle, 500)]
    for (const { answer, ms } of await Promise.all(clients)) {
      expect(answer).toBe('')
      expect(ms).toBeGreaterThan(8000)
    }
    await service.stop()
  })
})
