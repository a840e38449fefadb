import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { requestId } from '../../src/http/request-id.ts'
import { cleanUp, executable, PATIENCE, type Running, start } from '../support/executable.ts'
import { assessment, educator, range, world } from '../support/fixtures.ts'
import {
  bearer,
  type Credentials,
  LIST,
  newToken,
  postToken,
  send,
  TOKEN,
  tokenRequest,
} from '../support/http.ts'
import { whileBlocked } from '../support/served.ts'
import { authorize, load, startService, type TestService } from '../support/service.ts'

setDefaultTimeout(PATIENCE)

const PERSONAL = ['Given502', 'Family502', 'educator502@example.org', 'S-502', 'Paul Proctor']
const SEARCHED = 'Searchedtext'

/** Only for its database and credentials: what is tested is a process of its own. */
let service: TestService
let main: { clientId: string; clientSecret: string; token: string }
let empty: typeof main
let running: Running
let url: string

beforeAll(async () => {
  service = await startService('postgres')
  await load(service.sql, [
    ...world(),
    educator(502),
    ...range(60, at => assessment(9000 + at, { user_id: 502 })),
  ])
  main = await authorize(service, [10], [1])
  empty = await authorize(service, [], [1])
  running = await start(['serve'], { env: { DATABASE_URL: service.url, PORT: '0', SLOW_REQUEST_MS: '500' } })
  url = (await running.shows(/"url":"([^"]+)"/))[1] as string
})
afterAll(async () => {
  await cleanUp()
  await service.close()
})

/** Makes a request that can be told from all others; returns its answer and its line. */
let requests = 0
async function logged(path: string, init: RequestInit & { headers?: Record<string, string> } = {}) {
  const id = `test-${++requests}`
  const headers = { authorization: `Bearer ${main.token}`, 'x-request-id': id, ...init.headers }
  const answer = await fetch(`${url}${path}`, { ...init, headers })
  const body = await answer.text()
  const [line] = await running.shows(new RegExp(`^.*"request_id":"${id}".*"msg":"request".*$`, 'm'))
  return { answer, body, line: JSON.parse(line) as Record<string, unknown> }
}

const askToken = (credentials: Credentials) =>
  logged(TOKEN, { method: 'POST', body: new URLSearchParams(tokenRequest(credentials)) })

describe('a request id', () => {
  test.each([['a'], ['0-9._-Z'], ['x'.repeat(64)], ['0af7651916cd43dd8448eb211c80319c']])(
    'that is sane is kept: %p',
    id => {
      expect(requestId(id)).toBe(id)
    },
  )

  test.each([null, '', 'x'.repeat(65), 'a b', 'a"b', 'a\nb', 'é', 'a,b', `${'A1'.repeat(21)}x`])(
    'that is none, is not sane or looks like a credential is replaced: %p',
    id => {
      const [own, other] = [requestId(id), requestId(id)]
      expect(own).toMatch(/^[0-9a-f-]{36}$/)
      expect(other).not.toBe(own)
    },
  )

  test('is on every answer, errors too, and in the log', async () => {
    for (const [path, init] of [
      [LIST, {}],
      [`${LIST}/9001`, {}],
      [`${LIST}/9001`, { method: 'HEAD' }],
      [`${LIST}?page=x`, {}],
      [LIST, { headers: { authorization: 'Bearer x' } }],
      [LIST, { method: 'DELETE' }],
      ['/nowhere', {}],
      [TOKEN, { method: 'POST', body: '{' }],
    ] as const) {
      const { answer, line } = await logged(path, init)
      expect(answer.headers.get('x-request-id')).toBe(line.request_id as string)
    }
    const given = await fetch(`${url}${LIST}`, { headers: { 'x-request-id': main.token } })
    expect(given.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('a line of the request log', () => {
  test('says who asked for what, and what was sent', async () => {
    const { answer, body, line } = await logged(`${LIST}?page=25&offset=50`)
    expect(answer.status).toBe(200)
    expect(line).toEqual({
      level: 30,
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      request_id: expect.any(String),
      client_id: main.clientId,
      method: 'GET',
      route: LIST,
      status: 200,
      ms: expect.any(Number),
      records: 10,
      bytes: expect.any(Number),
      msg: 'request',
    })
    // Bun's fetch asks for compression and undoes it.
    expect(line.bytes as number).toBeLessThan(body.length)
    expect(String(line.bytes)).toBe(answer.headers.get('content-length') as string)
    const plain = await logged(`${LIST}?page=25`, { headers: { 'accept-encoding': 'identity' } })
    expect(plain.line).toMatchObject({ records: 25, bytes: Buffer.byteLength(plain.body) })
    expect((await logged(`${LIST}?offset=600`)).line).toMatchObject({ records: 0 })
    expect((await logged(`${LIST}/9001`)).line).toMatchObject({ records: 1, route: `${LIST}/:id` })
    expect((await logged(`${LIST}/9001`, { method: 'HEAD' })).line).toMatchObject({ bytes: 0, status: 200 })
  })

  test('names an integration once it is known to be that one, and only then', async () => {
    const { clientId, clientSecret } = main
    expect((await askToken(main)).line).toMatchObject({ status: 200, client_id: clientId })
    for (const wrong of [
      { clientId, clientSecret: 'wrong' },
      { clientId: clientSecret, clientSecret: clientId },
    ])
      expect((await askToken(wrong)).line).not.toHaveProperty('client_id')
    const { line } = await logged(LIST, { headers: bearer(empty.token) })
    expect(line).toMatchObject({ status: 400, client_id: empty.clientId })
    expect((await logged(`${LIST}?page=x`)).line).toMatchObject({ status: 400, client_id: clientId })
  })

  test('marks a request that was slow, and no other', async () => {
    expect((await logged(LIST)).line).not.toHaveProperty('slow')
    let slow: ReturnType<typeof logged> | undefined
    await whileBlocked(service.sql, async waiting => {
      slow = logged(LIST)
      await waiting(1)
      await Bun.sleep(500)
    })
    expect((await slow)?.line).toMatchObject({ slow: true, level: 40, status: 200 })
  })

  test('and any other holds no token, secret, name, email, seid or search text, under load', async () => {
    const { clientSecret, token } = main
    const paths = [
      ...['', '?filter[seids][]=S-502', `?page=${SEARCHED}`, `/${SEARCHED}`, `?access_token=${token}`],
      ...[...PERSONAL, SEARCHED].map(text => `?filter[search]=${encodeURIComponent(text)}`),
      `/9001?x=${clientSecret}`,
    ]
    const client = async () => {
      for (let round = 0; round < 4; round++) {
        for (const path of paths) {
          const headers = { ...bearer(token), 'x-request-id': round % 2 ? token : clientSecret }
          await send(url, LIST + path, { headers })
        }
        if (round % 2) tokens.push(await newToken(url, main))
        else await postToken(url, { clientId: clientSecret, clientSecret })
      }
    }
    const tokens = [token, empty.token]
    await Promise.all(Array.from({ length: 8 }, client))
    await logged(LIST)
    expect(tokens).toHaveLength(2 + 8 * 2)
    const output = running.stdout() + running.stderr()
    expect(output.split('\n').length).toBeGreaterThan(8 * 4 * paths.length)
    for (const text of [...PERSONAL, SEARCHED, clientSecret, empty.clientSecret, 'filter', ...tokens])
      expect(output).not.toContain(text)
  })
})

test('On a terminal the log is for people: one line each, no JSON', async () => {
  let shown = ''
  let isTold = false
  const child = Bun.spawn([await executable(), 'serve'], {
    env: { DATABASE_URL: service.url, PORT: '0', TERM: 'dumb' },
    terminal: {
      cols: 200,
      rows: 50,
      data: (_, chunk) => {
        shown += new TextDecoder().decode(chunk)
        const [, address] = /(http:\/\/[\d.]+:\d+)/.exec(shown) ?? []
        if (address && !shown.includes('request')) void fetch(`${address}${LIST}`)
        if (/request.*"status":401/.test(shown) && !isTold) {
          isTold = true
          child.kill('SIGTERM')
        }
      },
    },
  })
  expect(await child.exited).toBe(0)
  const lines = Bun.stripANSI(shown).trim().split('\r\n')
  expect(lines).toHaveLength(3)
  for (const line of lines)
    expect(line).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: (listening|request|stopping) \{.*\}$/)
})
