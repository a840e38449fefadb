import { describe, expect, test } from 'bun:test'
import { world } from '../support/fixtures.ts'
import {
  contract,
  expectOAuthError,
  expectToken,
  GRANT,
  oauthError,
  SCOPE,
  TOKEN,
} from './support/contract.ts'
import { rule } from './support/rule.ts'

const setup = { lines: world(), integrations: { main: SCOPE } } as const
const FORM = 'application/x-www-form-urlencoded'

contract('The token request', setup, api => {
  describe('with credentials', () => {
    test(rule('accepts form parameters', 'T1'), async () => {
      await expectToken(api, await api.tokenByForm(api.credentials()))
    })

    test(rule('accepts HTTP Basic with grant_type as a form parameter', 'T2'), async () => {
      await expectToken(api, await api.tokenByForm(GRANT, api.basic()))
    })

    test(rule('accepts a JSON body with the three fields', 'T3'), async () => {
      await expectToken(api, await api.tokenByJson(api.credentials()))
    })

    test('accepts HTTP Basic with a JSON body that has only grant_type', async () => {
      await expectToken(api, await api.tokenByJson(GRANT, api.basic()))
    })

    test('takes a parameter that is empty, or null in JSON, for one that was left out', async () => {
      const { client_id = '', ...rest } = api.credentials()
      const form = `${new URLSearchParams(rest)}`
      for (const pairs of [`client_id=&client_id=${client_id}`, `client_id=${client_id}&client_id=`])
        await expectToken(api, await api.tokenByForm(`${form}&${pairs}`))
      const left = { client_id: null, client_secret: null }
      await expectToken(api, await api.tokenByJson({ ...GRANT, ...left }, api.basic()))
      const answer = await api.tokenByJson({ ...api.credentials(), grant_type: null })
      expectOAuthError(answer, 400, 'unsupported_grant_type')
    })

    test('may begin with a byte order mark', async () => {
      const form = `\ufeff${new URLSearchParams(api.credentials())}`
      await expectToken(api, await api.tokenByForm(form))
      await expectToken(api, await api.tokenByJson(`\ufeff${JSON.stringify(api.credentials())}`))
    })

    test.each(['', ';charset=UTF-8', '; charset=utf-8'])(
      'accepts the content types of forms and JSON in any case, followed by %j',
      async parameter => {
        const [form, json] = [FORM.toUpperCase() + parameter, `application/json${parameter}`]
        await expectToken(api, await api.tokenByForm(api.credentials(), { 'content-type': form }))
        await expectToken(api, await api.tokenByJson(api.credentials(), { 'content-type': json }))
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

    test(rule('ignores unknown parameters and scope, and does not echo the scope', 'T6'), async () => {
      const params = { ...api.credentials(), audience: 'x', __proto__x: 'y', scope: 'everything openid' }
      for (const answer of [
        await api.tokenByForm(params),
        await api.tokenByJson({ ...params, nested: { a: [1] } }),
      ]) {
        await expectToken(api, answer)
        expect(answer.body).not.toHaveProperty('scope')
        expect(answer.text).not.toContain('everything')
      }
    })

    test('does not accept a bearer token as credentials', async () => {
      expectOAuthError(await api.tokenByForm(GRANT, api.bearer()), 401, 'invalid_client')
    })
  })

  describe('grant_type:', () => {
    /** The answers for all three ways to send credentials, with valid credentials. */
    const everyWay = async (grant: Record<string, string>) => {
      const { client_id, client_secret } = api.credentials()
      return [
        await api.tokenByForm({ ...grant, client_id, client_secret }),
        await api.tokenByJson({ ...grant, client_id, client_secret }),
        await api.tokenByForm(grant, api.basic()),
      ]
    }

    test.each([
      ...['', ' ', 'password', 'authorization_code', 'refresh_token', 'CLIENT_CREDENTIALS'],
      ...['Client_Credentials', 'client_credentials ', ' client_credentials', 'client_credentials,password'],
    ])(
      rule('any value other than client_credentials is unsupported_grant_type: %j', 'T4'),
      async grant_type => {
        for (const answer of await everyWay({ grant_type }))
          expectOAuthError(answer, 400, 'unsupported_grant_type')
      },
    )

    test(rule('a missing grant_type is unsupported_grant_type', 'T4'), async () => {
      for (const answer of await everyWay({})) expectOAuthError(answer, 400, 'unsupported_grant_type')
    })

    test('another value is refused before the client is checked', async () => {
      const client = { client_id: 'nobody', client_secret: 'nothing' }
      for (const answer of [
        await api.tokenByForm({ ...client, grant_type: 'password' }),
        await api.tokenByForm(client),
        await api.tokenByJson(client),
        await api.tokenByForm({}, { authorization: `Basic ${btoa('nobody:nothing')}` }),
      ])
        expectOAuthError(answer, 400, 'unsupported_grant_type')
    })

    test.each([
      'text/plain',
      'multipart/form-data; boundary=x',
      'application/xml',
      'application/jsonp',
      'nonsense',
    ])(
      'a value in a body of the content type %s is not read, and the error names the right ones',
      async contentType => {
        const answer = await api.tokenByForm(api.credentials(), { 'content-type': contentType })
        expectOAuthError(answer, 400, 'unsupported_grant_type')
        expectContentTypes(answer.text)
      },
    )

    test('a value in a body without a content type is not read, and the error names the right ones', async () => {
      const body = new URLSearchParams(api.credentials()).toString()
      const { status, text } = await api.raw(
        [`POST ${TOKEN} HTTP/1.1`, `Content-Length: ${body.length}`],
        body,
      )
      expect([status, JSON.parse(text)]).toEqual([400, oauthError('unsupported_grant_type')])
      expectContentTypes(text)
    })

    test('a value in the query string is not read, and an absent body has none', async () => {
      const absent = await api.request(TOKEN, { method: 'POST', headers: api.basic() })
      const query = new URLSearchParams(api.credentials())
      const inQuery = await api.request(`${TOKEN}?${query}`, { method: 'POST' })
      for (const answer of [absent, inQuery]) expectOAuthError(answer, 400, 'unsupported_grant_type')
    })
  })
})

/** Expects the text of an error to name the two content types that are read. */
function expectContentTypes(text: string): void {
  for (const name of ['Content-Type', FORM, 'application/json']) expect(text).toContain(name)
}
