import { expect, test } from 'bun:test'
import { type Answer, basic, contract, oauthError, TOKEN } from './support/contract.ts'
import { world } from './support/lines.ts'

const setup = { lines: world(), integrations: { main: [[10], [1]], empty: [[], []] } } as const
const GRANT = { grant_type: 'client_credentials' }

contract('The token response', setup, api => {
  const answers: Record<string, () => Promise<Answer>> = {
    '200': () => api.tokenByForm(api.credentials()),
    '400 unsupported_grant_type': () => api.tokenByForm({}),
    '400 invalid_request': () => api.tokenByJson('{'),
    '401 invalid_client': () => api.tokenByForm({ ...GRANT, client_id: 'x', client_secret: 'x' }),
    '401 invalid_client by Basic': () => api.tokenByForm(GRANT, { authorization: basic('x', 'x') }),
    '405': () => api.request(TOKEN),
    '413': () => api.tokenByForm('x'.repeat(17_000)),
  }
  const names = Object.keys(answers)
  const answerOf = (name: string): Promise<Answer> => {
    const ask = answers[name]
    if (!ask) throw new Error(`there is no ${name}`)
    return ask()
  }

  test('has exactly access_token, token_type, expires_in and created_at', async () => {
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

  test('is the same for all three ways to send credentials, but for the token', async () => {
    const { clientId, clientSecret } = api.clients.main
    for (const { status, body } of [
      await api.tokenByForm(api.credentials()),
      await api.tokenByForm(GRANT, { authorization: basic(clientId, clientSecret) }),
      await api.tokenByJson(api.credentials()),
    ]) {
      expect(status).toBe(200)
      expect(Object.keys(body as object).sort()).toEqual([
        'access_token',
        'created_at',
        'expires_in',
        'token_type',
      ])
    }
  })

  test('names a token of at least 256 random bits, of which the database keeps only the digest', async () => {
    const token = await api.newToken()
    // 43 characters of 62 kinds are 256 bits.
    expect(token.length).toBeGreaterThanOrEqual(43)
    const rows = await api.service.sql<{ lifetime: number; row: string }[]>`
      select extract(epoch from expires_at - created_at)::float8 as lifetime, access_tokens::text as row
      from access_tokens where digest = sha256(convert_to(${token}, 'UTF8'))`
    expect(rows.map(row => row.lifetime)).toEqual([7200])
    expect(rows[0]?.row).not.toContain(token)
  })

  test('is a new token each time, and earlier ones stay valid', async () => {
    const tokens = [await api.newToken(), await api.newToken(), await api.newToken()]
    expect(new Set(tokens).size).toBe(3)
    for (const bearer of [...tokens, api.clients.main.token]) {
      expect((await api.tryList('', { bearer })).status).toBe(200)
    }
  })

  test('is a token for an integration with an empty scope as well', async () => {
    expect((await api.tokenByForm(api.credentials('empty'))).status).toBe(200)
  })

  test.each(names)('is uncacheable JSON: %s', async name => {
    const { headers } = await answerOf(name)
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('pragma')).toBe('no-cache')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })

  test.each(names.filter(name => name.startsWith('401')))('challenges for Basic: %s', async name => {
    const { status, headers } = await answerOf(name)
    expect(status).toBe(401)
    expect(headers.get('www-authenticate')).toMatch(/^Basic realm="[^"]+"/)
  })

  test.each(names.filter(name => !name.startsWith('401')))('has no challenge: %s', async name => {
    const { status, headers } = await answerOf(name)
    expect(status).toBe(Number(name.slice(0, 3)))
    expect(headers.get('www-authenticate')).toBeNull()
  })

  test.each(names.filter(name => name !== '200'))(
    'has exactly error and a printable error_description: %s',
    async name => {
      expect((await answerOf(name)).body).toEqual(oauthError(expect.stringMatching(/^[a-z_]+$/)))
    },
  )

  test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'to %s is 405 with Allow: POST, whoever asks',
    async method => {
      for (const headers of [{}, { authorization: `Bearer ${api.clients.main.token}` }]) {
        const answer = await api.request(TOKEN, { method, headers })
        expect(answer.status).toBe(405)
        expect(answer.headers.get('allow')).toBe('POST')
        expect(answer.headers.get('cache-control')).toBe('no-store')
        expect(answer.body).toEqual(method === 'HEAD' ? undefined : oauthError(expect.any(String)))
      }
    },
  )
})
