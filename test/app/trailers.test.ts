import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import pino from 'pino'
import { startHttpServer } from '../../src/app/server.ts'
import { readLimits } from '../../src/cli/limits.ts'
import { selfSigned } from '../support/certificate.ts'
import { world } from '../support/fixtures.ts'
import { LIST, TOKEN, tokenRequest } from '../support/http.ts'
import { dial } from '../support/raw.ts'
import { whileBlocked } from '../support/served.ts'
import { authorize, load, startService, type TestService } from '../support/service.ts'

setDefaultTimeout(60_000)

const pair = selfSigned('trailers')

let service: TestService
let client: { clientId: string; clientSecret: string }
let encrypted: ReturnType<typeof startHttpServer>
beforeAll(async () => {
  service = await startService()
  await load(service.sql, world())
  client = await authorize(service, [10], [1])
  const { pool, http } = readLimits({})
  const log = pino({ enabled: false })
  const address = { host: '127.0.0.1', port: 0 }
  encrypted = startHttpServer(service.pool(pool, log), log, address, http, {
    certificate: { ...pair, expires: 0 },
  })
})
afterAll(async () => {
  await encrypted?.stop()
  await service?.close()
})

const form = (clientSecret: string) =>
  new URLSearchParams(tokenRequest({ ...client, clientSecret })).toString()

/** Requests with a body in chunks, by their answers. `isUnread`: the answer does not wait for the end of the body. */
const REQUESTS = {
  'a 200': { line: `POST ${TOKEN}`, status: 200, body: () => form(client.clientSecret) },
  'a 401 that waits for the database': {
    ...{ line: `POST ${TOKEN}`, status: 401, body: () => form('wrong') },
    isDelayed: true,
  },
  'a 405': { line: `POST ${LIST}`, status: 405, body: () => 'x', isUnread: true },
  'a 413': { line: `POST ${TOKEN}`, status: 413, body: () => 'x'.repeat(17_000), isUnread: true },
  'a GET': { line: `GET ${LIST}`, status: 401, body: () => 'x', isUnread: true },
}

type Sent = { line: string; status: number; body: () => string; isDelayed?: boolean; isUnread?: boolean }

const END = '0\r\n'
const TRAILER = 'X-Sum: 1\r\n\r\n'

/** What follows the chunks of a body: in the same packet, before the answer, and after it. */
const ENDS: Record<string, { same?: string; before?: string; after?: string; isOfUnread?: boolean }> = {
  'a trailer in the same packet': { same: END + TRAILER },
  'a trailer before the answer': { same: END, before: TRAILER },
  'a trailer after the answer': { same: END, after: TRAILER },
  'a line end in the same packet': { same: `${END}\r\n\r\n` },
  'a line end after the answer': { same: `${END}\r\n`, after: '\r\n' },
  'the rest of a body that was not read': { after: `1\r\nx\r\n${END}\r\n`, isOfUnread: true },
}

const trials = ['HTTP', 'HTTPS'].flatMap(protocol =>
  Object.entries<Sent>(REQUESTS).flatMap(([answer, request]) =>
    Object.entries(ENDS)
      .filter(([, { isOfUnread }]) => !isOfUnread || request.isUnread)
      .map(([end, sent]) => ({ protocol, answer, end, ...request, ...sent })),
  ),
)

/** A proxy gives what follows an answer to its next client, unless the answer says that the connection ends. */
test.each(trials)(
  'by $protocol, $answer with $end is the only answer, or says that it is the last one',
  async ({ protocol, line, status, body, isDelayed, same = '', before, after }) => {
    const connection = protocol === 'HTTP' ? dial(service.baseUrl) : dial(encrypted.url, pair.cert)
    const type = 'application/x-www-form-urlencoded'
    const head = `${line} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`
    const text = body()
    const send = async (waiting: (count: number) => Promise<unknown> = async () => {}) => {
      connection.write(`${head}${text.length.toString(16)}\r\n${text}\r\n${same}`)
      if (before || after) await waiting(1)
      if (before) connection.write(before)
      // Otherwise the answer may come after the lock.
      if (before || !after) await connection.toEnd()
    }
    if (isDelayed) await whileBlocked(service.sql, send, 'integrations')
    else await send()
    const first = await connection.next(line.split(' ')[0])
    if (after) connection.write(after)
    const rest = (await connection.toEnd()).toString()
    expect(first?.status).toBeOneOf(after ? [status] : [status, 400])
    if (after) expect(rest).toBe('')
    if (rest !== '' || after) expect(first?.headers.get('connection')?.toLowerCase()).toBe('close')
    expect(rest).toMatch(/^(HTTP\/1\.1 400 Bad Request\r\nConnection: close\r\n\r\n)?$/)
  },
)
