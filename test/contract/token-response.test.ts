import { expect, test } from 'bun:test'
import { world } from '../support/fixtures.ts'
import { type Answer, basic, contract, GRANT, NOTHING, oauthError, SCOPE, TOKEN } from './support/contract.ts'
import { rule } from './support/rule.ts'

const setup = {
  lines: world(),
  integrations: { main: SCOPE, empty: NOTHING },
} as const

contract('The token response', setup, api => {
  const BASIC = /^Basic realm="[^"]+"/
  const answers: [name: string, ask: () => Promise<Answer>, status: number, error: string | null][] = [
    ['a token', () => api.tokenByForm(api.credentials()), 200, null],
    ['another grant', () => api.tokenByForm({}), 400, 'unsupported_grant_type'],
    ['no JSON', () => api.tokenByJson('{'), 400, 'invalid_request'],
    ['a wrong client', () => api.tokenByForm({ ...GRANT, client_id: 'x' }), 401, 'invalid_client'],
    ['wrong Basic', () => api.tokenByForm(GRANT, { authorization: basic('x', 'x') }), 401, 'invalid_client'],
    ['another method', () => api.request(TOKEN), 405, 'invalid_request'],
    ['a large body', () => api.tokenByForm('x'.repeat(17_000)), 413, 'invalid_request'],
  ]

  test(rule('has exactly access_token, token_type, expires_in and created_at', 'T7'), async () => {
    const before = Math.floor(Date.now() / 1000)
    const { status, body } = await api.tokenByForm(api.credentials())
    const after = Math.floor(Date.now() / 1000)
    expect(status).toBe(200)
    expect(body).toEqual({
      access_token: expect.stringMatching(/^[A-Za-z0-9]+$/),
      token_type: 'Bearer',
      expires_in: 7200,
      created_at: expect.any(Number),
    })
    const { created_at: createdAt } = body as { created_at: number }
    expect(Number.isInteger(createdAt)).toBe(true)
    expect(createdAt).toBeGreaterThanOrEqual(before)
    expect(createdAt).toBeLessThanOrEqual(after)
  })

  test('has the same form for all three ways to send credentials', async () => {
    for (const { status, body } of [
      await api.tokenByForm(api.credentials()),
      await api.tokenByForm(GRANT, api.basic()),
      await api.tokenByJson(api.credentials()),
    ]) {
      const keys = Object.keys(body as object).sort()
      expect([status, keys]).toEqual([200, ['access_token', 'created_at', 'expires_in', 'token_type']])
    }
  })

  test(
    rule('has a token of at least 256 random bits, of which the database stores only the digest', 'T8'),
    async () => {
      const token = await api.newToken()
      // 43 characters out of 62 have 256 bits.
      expect(token.length).toBeGreaterThanOrEqual(43)
      const rows = await api.service.sql<{ lifetime: number; row: string }[]>`
      select extract(epoch from expires_at - created_at)::float8 as lifetime, access_tokens::text as row
      from access_tokens where digest = sha256(convert_to(${token}, 'UTF8'))`
      expect(rows.map(row => row.lifetime)).toEqual([7200])
      expect(rows[0]?.row).not.toContain(token)
    },
  )

  test(rule('has a new token each time, and earlier tokens stay valid', 'T8'), async () => {
    const tokens = [await api.newToken(), await api.newToken(), await api.newToken()]
    expect(new Set(tokens).size).toBe(3)
    for (const bearer of [...tokens, api.clients.main.token]) {
      expect((await api.tryList('', { bearer })).status).toBe(200)
    }
  })

  test('has a token for an integration with an empty scope too', async () => {
    expect((await api.tokenByForm(api.credentials('empty'))).status).toBe(200)
  })

  test.each(answers)(
    'to %s is JSON without caching; errors have exactly error and error_description, and a 401 has a Basic challenge',
    async (_, ask, status, error) => {
      const { headers, body, ...answer } = await ask()
      expect(answer.status).toBe(status)
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('pragma')).toBe('no-cache')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('www-authenticate')).toEqual(status === 401 ? expect.stringMatching(BASIC) : null)
      if (error) expect(body).toEqual(oauthError(error))
    },
  )

  test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'to %s is 405 with Allow: POST, with any credentials',
    async method => {
      for (const headers of [{}, { authorization: `Bearer ${api.clients.main.token}` }]) {
        const answer = await api.request(TOKEN, { method, headers })
        expect(answer.status).toBe(405)
        expect(answer.headers.get('allow')).toBe('POST')
        expect(answer.headers.get('cache-control')).toBe('no-store')
        expect(answer.body).toEqual(method === 'HEAD' ? undefined : oauthError('invalid_request'))
      }
    },
  )
})
