import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { requestId } from '../../src/app/request-log.ts'
import { reportIntegration } from '../../src/integrations/report.ts'
import { executable, TEST_TIMEOUT_MS } from '../support/executable.ts'
import { assessment, range } from '../support/fixtures.ts'
import { bearer, type Credentials, LIST, newToken, TOKEN, tokenRequest } from '../support/http.ts'
import { provision } from '../support/operator.ts'
import { type Served, useServedWorld, whileBlocked } from '../support/served.ts'
import { load } from '../support/service.ts'
import { NO_NUMBER } from '../support/wordings.ts'

setDefaultTimeout(TEST_TIMEOUT_MS)

const world = useServedWorld()
let server: Served
beforeAll(async () => {
  await load(
    world.sql,
    range(60, at => assessment(9000 + at)),
  )
  server = await world.serve()
})

/** Sends a request with a unique id; returns the answer and its log line. */
let requests = 0
async function logged(path: string, init: RequestInit & { headers?: Record<string, string> } = {}) {
  const id = `test-${++requests}`
  const headers = { authorization: `Bearer ${world.token}`, 'x-request-id': id, ...init.headers }
  const answer = await fetch(`${server.url}${path}`, { ...init, headers })
  const body = await answer.text()
  const [line] = await server.shows(new RegExp(`^.*"request_id":"${id}".*"msg":"request".*$`, 'm'))
  return { answer, body, line: JSON.parse(line) as Record<string, unknown> }
}

const askToken = (credentials: Credentials) =>
  logged(TOKEN, { method: 'POST', body: new URLSearchParams(tokenRequest(credentials)) })

describe('a request id', () => {
  test.each([
    ...['a', '0-9._-Z', 'x'.repeat(42), 'x-'.repeat(32), '0af7651916cd43dd8448eb211c80319c'],
    ...['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', '1764380000.123-7.2', '2026.11.29'],
  ])('is kept if it is valid: %p', id => {
    expect(requestId(id)).toBe(id)
  })

  const token = `${'A1'.repeat(21)}x`
  const mail = 'ana.ruiz@school.example'
  test.each([
    ...[null, '', 'x-'.repeat(33), 'a b', 'a"b', 'a\nb', 'é', 'a,b'],
    ...[token, `id-${token}`, `${token}.7`, `id${token}7`, `a_${token}_b`],
    ...[mail, `id-${mail}-7`, '203.0.113.9', 'id-203.0.113.9-7', 'a203.0.113.9b', '2001:db8::1'],
  ])('is replaced if it is missing or invalid, or holds a credential or an address: %p', id => {
    const [own, other] = [requestId(id), requestId(id)]
    expect(own).toMatch(/^[0-9a-f-]{36}$/)
    expect(other).not.toBe(own)
  })

  test('is in every answer, also in errors, and in the log', async () => {
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
    const given = await fetch(`${server.url}${LIST}`, { headers: { 'x-request-id': `id-${world.token}-7` } })
    expect(given.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('a line of the request log', () => {
  test('has the integration, the request and the answer', async () => {
    const { answer, body, line } = await logged(`${LIST}?page=25&offset=50`)
    expect(answer.status).toBe(200)
    expect(line).toEqual({
      level: 30,
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      request_id: expect.any(String),
      address: '127.0.0.1',
      client_id: world.credentials.clientId,
      method: 'GET',
      route: LIST,
      status: 200,
      ms: expect.any(Number),
      records: 10,
      bytes: expect.any(Number),
      msg: 'request',
    })
    // Bun's fetch requests compression and decompresses the answer.
    expect(line.bytes as number).toBeLessThan(body.length)
    expect(String(line.bytes)).toBe(answer.headers.get('content-length') as string)
    const plain = await logged(`${LIST}?page=25`, { headers: { 'accept-encoding': 'identity' } })
    expect(plain.line).toMatchObject({ records: 25, bytes: Buffer.byteLength(plain.body) })
    expect((await logged(`${LIST}?offset=600`)).line).toMatchObject({ records: 0 })
    expect((await logged(`${LIST}/9001`)).line).toMatchObject({ records: 1, route: `${LIST}/:id` })
    expect((await logged(`${LIST}/9001`, { method: 'HEAD' })).line).toMatchObject({ bytes: 0, status: 200 })
  })

  test('has the integration only if the request has proven its identity', async () => {
    const { clientId, clientSecret } = world.credentials
    expect((await askToken(world.credentials)).line).toMatchObject({ status: 200, client_id: clientId })
    const wrong = await askToken({ clientId, clientSecret: 'wrong' })
    expect(wrong.line).toMatchObject({ status: 401, client_id: clientId, refused: ['invalid_client'] })
    for (const clientId of [clientSecret, 'x'.repeat(24), 'a b', 'a\0']) {
      const { line } = await askToken({ clientId, clientSecret: world.credentials.clientId })
      expect(line).toMatchObject({ status: 401, refused: ['invalid_client'] })
      expect(line).not.toHaveProperty('client_id')
    }
    const empty = await provision(world.sql, [], ['1'])
    const { line } = await logged(LIST, { headers: bearer(await newToken(server.url, empty)) })
    expect(line).toMatchObject({ status: 400, client_id: empty.clientId })
    expect((await logged(`${LIST}?page=x`)).line).toMatchObject({ status: 400, client_id: clientId })
  })

  test('names the integration of an expired token, or of a disabled integration, and show counts these', async () => {
    const integration = await provision(world.sql, 'all', 'all')
    const { clientId: client_id } = integration
    const headers = bearer(await newToken(server.url, integration))
    const unknown = await logged(LIST, { headers: bearer('x'.repeat(43)) })
    expect(unknown.line).toMatchObject({ status: 401, refused: ['invalid_token'] })
    expect(unknown.line).not.toHaveProperty('client_id')
    const of = (id: string) => world.sql`select id from integrations where client_id = ${id}`
    const secret = world.sql`select id from integration_secrets where integration_id = (${of(client_id)})`
    await world.sql`update access_tokens set expires_at = now() where secret_id = (${secret})`
    const expired = await logged(LIST, { headers })
    expect(expired.line).toMatchObject({
      status: 401,
      client_id,
      refused: ['invalid_token: the token has expired'],
    })
    expect([expired.answer.status, expired.body]).toEqual([unknown.answer.status, unknown.body])
    await world.sql`update access_tokens set expires_at = now() + interval '1 hour'`
    await world.sql`update integration_secrets set expires_at = now() where id = (${secret})`
    const ended = await logged(LIST, { headers })
    expect(ended.line).toMatchObject({
      status: 401,
      client_id,
      refused: ['invalid_token: its secret has ended'],
    })
    await world.sql`update integration_secrets set expires_at = null where id = (${secret})`
    await world.sql`update integrations set disabled_at = now() where client_id = ${client_id}`
    const disabled = await logged(`${LIST}/9001`, { headers })
    const refused = ['invalid_token: the integration is disabled']
    expect(disabled.line).toMatchObject({ status: 401, client_id, refused })
    expect(await reportIntegration(world.sql, client_id)).toMatchObject({ last_used_at: null })
  })

  test('has the reason of a refusal without any text of the request', async () => {
    const secret = 'Zdenka.Personname'
    const refusals: [path: string, refused: string[]][] = [
      [`${LIST}?page=${secret}`, [`page ${NO_NUMBER}, at least 1`]],
      [
        `${LIST}?filter[user_ids][]=${secret}&filter[start_date]=${secret}`,
        ['filter[start_date] must be a calendar day as YYYY-MM-DD', `filter[user_ids] ${NO_NUMBER}`],
      ],
      [`${LIST}?filter[search]=${secret}%FF`, ['The query string is not valid percent-encoded UTF-8']],
    ]
    for (const [path, refused] of refusals) {
      const { line } = await logged(path)
      expect(line).toMatchObject({ status: 400, client_id: world.credentials.clientId, refused })
      expect(JSON.stringify(line)).not.toContain(secret)
    }
    const anonymous = await logged(LIST, { headers: bearer(secret) })
    expect(anonymous.line).toMatchObject({ status: 401, refused: ['invalid_token'] })
    const body = new URLSearchParams([
      ...Object.entries(tokenRequest(world.credentials)),
      ['grant_type', secret],
    ])
    const { line } = await logged(TOKEN, { method: 'POST', body })
    expect(line.refused).toEqual(['invalid_request: grant_type must not be repeated'])
    expect((await logged(`${LIST}/1`)).line).not.toHaveProperty('refused')
  })

  test('has the address that a trusted proxy forwards, and no other forwarded address', async () => {
    const headers = { 'x-forwarded-for': '8.8.8.8, 203.0.113.9' }
    expect((await logged(LIST, { headers })).line.address).toBe('127.0.0.1')
    const untrusting = server
    server = await world.serve([], { TRUSTED_PROXIES: '10.0.0.0/8, 127.0.0.1' })
    expect((await logged(LIST, { headers })).line.address).toBe('203.0.113.9')
    await server.end()
    server = untrusting
  })

  test('marks slow requests only', async () => {
    expect((await logged(LIST)).line).not.toHaveProperty('slow')
    let slow: ReturnType<typeof logged> | undefined
    await whileBlocked(world.sql, async waiting => {
      slow = logged(LIST)
      await waiting(1)
      await Bun.sleep(1000)
    })
    expect((await slow)?.line).toMatchObject({ slow: true, level: 40, status: 200 })
  })
})

test('on a terminal, the log has one readable line per request, and no JSON', async () => {
  let shown = ''
  let isTold = false
  const child = Bun.spawn([await executable(), 'serve'], {
    env: { ...world.env, PORT: '0', TERM: 'dumb' },
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
