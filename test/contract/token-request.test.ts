import { describe, expect, test } from 'bun:test'
import {
  type Answer,
  type Api,
  basic,
  contract,
  expectOAuthError,
  expectToken,
  oauthError,
  TOKEN,
} from './support/contract.ts'
import { world } from './support/lines.ts'
import { exchange } from './support/raw.ts'

type Clients = 'main' | 'other'
const setup = {
  lines: world(),
  integrations: { main: [[10], [1]], other: [[10], [1]] },
} as const
const GRANT = { grant_type: 'client_credentials' }

/** Credentials by HTTP Basic, and a form. */
function basicForm(api: Api<Clients>, form: Record<string, string> = GRANT): Promise<Answer> {
  const { clientId, clientSecret } = api.clients.main
  return api.tokenByForm(form, { authorization: basic(clientId, clientSecret) })
}

contract('The token request', setup, api => {
  describe('three ways to send credentials', () => {
    test('takes form parameters', async () => {
      await expectToken(api, await api.tokenByForm(api.credentials()))
    })

    test('takes HTTP Basic with grant_type as a form parameter', async () => {
      await expectToken(api, await basicForm(api))
    })

    test('takes a JSON body with the three fields', async () => {
      await expectToken(api, await api.tokenByJson(api.credentials()))
    })

    test('takes HTTP Basic with a JSON body that holds only grant_type', async () => {
      const { clientId, clientSecret } = api.clients.main
      const answer = await api.tokenByJson(GRANT, { authorization: basic(clientId, clientSecret) })
      await expectToken(api, answer)
    })

    test.each([
      'application/x-www-form-urlencoded;charset=UTF-8',
      'application/x-www-form-urlencoded; charset=utf-8',
    ])('takes a form under the content type %s', async contentType => {
      await expectToken(api, await api.tokenByForm(api.credentials(), { 'content-type': contentType }))
    })

    test.each(['application/json;charset=UTF-8', 'application/json; charset=utf-8'])(
      'takes JSON under the content type %s',
      async contentType => {
        await expectToken(api, await api.tokenByJson(api.credentials(), { 'content-type': contentType }))
      },
    )

    test.each(['text/html', 'application/xml;q=0.9', 'nonsense', '*/*'])(
      'ignores the header Accept: %s',
      async accept => {
        const answer = await api.tokenByForm(api.credentials(), { accept })
        expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
        await expectToken(api, answer)
      },
    )

    test('ignores unknown parameters', async () => {
      await expectToken(api, await api.tokenByForm({ ...api.credentials(), audience: 'x', __proto__x: 'y' }))
      await expectToken(
        api,
        await api.tokenByJson({ ...api.credentials(), audience: 'x', nested: { a: [1] } }),
      )
    })

    test('ignores a scope and never echoes it', async () => {
      for (const answer of [
        await api.tokenByForm({ ...api.credentials(), scope: 'everything openid' }),
        await api.tokenByJson({ ...api.credentials(), scope: 'everything openid' }),
      ]) {
        await expectToken(api, answer)
        expect(answer.body).not.toHaveProperty('scope')
        expect(answer.text).not.toContain('everything')
      }
    })

    test('does not take a bearer token for the credentials', async () => {
      const bearer = { authorization: `Bearer ${api.clients.main.token}` }
      expectOAuthError(await api.tokenByForm(GRANT, bearer), 401, 'invalid_client')
    })
  })

  describe('grant_type', () => {
    const wrong = [
      '',
      ' ',
      'password',
      'authorization_code',
      'refresh_token',
      'CLIENT_CREDENTIALS',
      'Client_Credentials',
    ]

    test.each([...wrong, 'client_credentials ', ' client_credentials', 'client_credentials,password'])(
      'is matched exactly: %j is unsupported_grant_type',
      async grantType => {
        const params = { ...api.credentials(), grant_type: grantType }
        expectOAuthError(await api.tokenByForm(params), 400, 'unsupported_grant_type')
        expectOAuthError(await api.tokenByJson(params), 400, 'unsupported_grant_type')
        expectOAuthError(await basicForm(api, { grant_type: grantType }), 400, 'unsupported_grant_type')
      },
    )

    test('that is missing is unsupported_grant_type', async () => {
      const { grant_type: _, ...params } = api.credentials()
      expectOAuthError(await api.tokenByForm(params), 400, 'unsupported_grant_type')
      expectOAuthError(await api.tokenByJson(params), 400, 'unsupported_grant_type')
      expectOAuthError(await basicForm(api, {}), 400, 'unsupported_grant_type')
    })

    test('is checked before the client', async () => {
      const client = { client_id: 'nobody', client_secret: 'nothing' }
      expectOAuthError(
        await api.tokenByForm({ ...client, grant_type: 'password' }),
        400,
        'unsupported_grant_type',
      )
      expectOAuthError(await api.tokenByForm(client), 400, 'unsupported_grant_type')
      expectOAuthError(await api.tokenByJson(client), 400, 'unsupported_grant_type')
      const authorization = basic('nobody', 'nothing')
      expectOAuthError(await api.tokenByForm({}, { authorization }), 400, 'unsupported_grant_type')
    })

    test.each([
      'text/plain',
      'multipart/form-data; boundary=x',
      'application/xml',
      'application/jsonp',
      'nonsense',
    ])('is not found in a body of the content type %s', async contentType => {
      const answer = await api.tokenByForm(api.credentials(), { 'content-type': contentType })
      expectOAuthError(answer, 400, 'unsupported_grant_type')
    })

    test('is not found in a body without a content type', async () => {
      const body = new URLSearchParams(api.credentials()).toString()
      const head = [`POST ${TOKEN} HTTP/1.1`, `Content-Length: ${body.length}`]
      const answer = await exchange(api.service.baseUrl, head, body)
      expect(JSON.parse(answer.body)).toEqual(oauthError('unsupported_grant_type'))
      expect(answer.status).toBe(400)
    })

    test('is not found in an absent body', async () => {
      const { clientId, clientSecret } = api.clients.main
      const headers = { authorization: basic(clientId, clientSecret) }
      expectOAuthError(await api.request(TOKEN, { method: 'POST', headers }), 400, 'unsupported_grant_type')
    })

    test('is not read from the query string', async () => {
      const query = new URLSearchParams(api.credentials())
      const answer = await api.request(`${TOKEN}?${query}`, { method: 'POST' })
      expectOAuthError(answer, 400, 'unsupported_grant_type')
    })
  })
})
