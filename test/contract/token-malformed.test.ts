import { describe, expect, test } from 'bun:test'
import { type Answer, basic, contract, expectOAuthError, oauthError, TOKEN } from './support/contract.ts'
import { world } from './support/lines.ts'
import { exchange } from './support/raw.ts'

const setup = { lines: world(), integrations: { main: [[10], [1]], other: [[10], [1]] } } as const
const GRANT = { grant_type: 'client_credentials' }
const MAX_BODY = 16 * 1024

contract('A token request that makes no sense', setup, api => {
  describe('Basic and body together', () => {
    const basicHeader = () => {
      const { clientId, clientSecret } = api.clients.main
      return { authorization: basic(clientId, clientSecret) }
    }

    test('is invalid_request when both hold credentials, even the same', async () => {
      const { client_id, client_secret } = api.credentials()
      for (const credentials of [{ client_id, client_secret }, { client_secret }]) {
        const params = { ...GRANT, ...credentials }
        expectOAuthError(await api.tokenByForm(params, basicHeader()), 400, 'invalid_request')
        expectOAuthError(await api.tokenByJson(params, basicHeader()), 400, 'invalid_request')
      }
    })

    test('is fine when the body only repeats the client_id', async () => {
      const params = { ...GRANT, client_id: api.clients.main.clientId }
      expect((await api.tokenByForm(params, basicHeader())).status).toBe(200)
      expect((await api.tokenByJson(params, basicHeader())).status).toBe(200)
    })

    test('is invalid_client when the body names another client_id', async () => {
      for (const client_id of ['nobody', api.clients.other.clientId]) {
        const params = { ...GRANT, client_id }
        expectOAuthError(await api.tokenByForm(params, basicHeader()), 401, 'invalid_client')
        expectOAuthError(await api.tokenByJson(params, basicHeader()), 401, 'invalid_client')
      }
    })

    test('is fine when client_id and client_secret of the body are empty', async () => {
      const params = { ...GRANT, client_id: '', client_secret: '' }
      expect((await api.tokenByForm(params, basicHeader())).status).toBe(200)
      expect((await api.tokenByJson(params, basicHeader())).status).toBe(200)
    })

    test('is unsupported_grant_type before anything else', async () => {
      const params = { ...api.credentials(), grant_type: 'password' }
      expectOAuthError(await api.tokenByForm(params, basicHeader()), 400, 'unsupported_grant_type')
    })
  })

  describe('malformed', () => {
    test.each(['grant_type', 'client_id', 'client_secret'] as const)(
      'is invalid_request with the parameter %s repeated, even alike',
      async name => {
        const params = api.credentials()
        expectOAuthError(
          await api.tokenByForm([...Object.entries(params), [name, params[name]]]),
          400,
          'invalid_request',
        )
        expectOAuthError(
          await api.tokenByForm([...Object.entries(params), [name, 'x']]),
          400,
          'invalid_request',
        )
      },
    )

    test.each([
      '{',
      'grant_type=client_credentials',
      '{"grant_type":"client_credentials",}',
      'undefined',
      '',
    ])('is invalid_request with a JSON content type and the body %j, which is not JSON', async body => {
      const { clientId, clientSecret } = api.clients.main
      expectOAuthError(await api.tokenByJson(body), 400, 'invalid_request')
      const authorization = basic(clientId, clientSecret)
      expectOAuthError(await api.tokenByJson(body, { authorization }), 400, 'invalid_request')
    })

    test.each(['null', '[]', '"client_credentials"', '5', 'true', '[{"grant_type":"client_credentials"}]'])(
      'is refused with JSON that is no object: %s',
      async body => {
        expectRefused(await api.tokenByJson(body))
      },
    )

    test.each(['null', '5', 'true', '["x"]', '{"toString":"x"}', '[]', '{}'])(
      'is refused with the JSON value %s where a string belongs',
      async value => {
        for (const name of ['grant_type', 'client_id', 'client_secret']) {
          expectRefused(await api.tokenByJson({ ...api.credentials(), [name]: JSON.parse(value) }))
        }
      },
    )

    test('is refused where the right string is wrapped in an array', async () => {
      const params = api.credentials()
      for (const name of ['grant_type', 'client_id', 'client_secret'] as const) {
        expectRefused(await api.tokenByJson({ ...params, [name]: [params[name]] }))
      }
    })

    test.each(['[]', '[0]', '[x]', '[', '%5B%5D'])(
      'is refused with the form keys grant_type%s, client_id%s and client_secret%s',
      async brackets => {
        const params = api.credentials()
        for (const name of ['grant_type', 'client_id', 'client_secret'] as const) {
          const pairs = Object.entries(params).map(([key, value]) =>
            key === name ? `${key}${brackets}=${value}` : `${key}=${value}`,
          )
          expectRefused(await api.tokenByForm(pairs.join('&')))
        }
      },
    )

    test.each([
      'client_id=%FF',
      'client_id=%',
      'client_id=%zz',
      'client_id=a%00b',
      '=x',
      '&&&',
      'client_id',
      '%00=1',
    ])('is refused with the form %j, without an internal error', async form => {
      expectRefused(await api.tokenByForm(`grant_type=client_credentials&client_secret=x&${form}`))
    })

    test('is refused with bytes that are not UTF-8', async () => {
      for (const contentType of ['application/json', 'application/x-www-form-urlencoded']) {
        const body = new Uint8Array([0x7b, 0xff, 0xfe, 0x00, 0x7d])
        expectRefused(
          await api.request(TOKEN, { method: 'POST', headers: { 'content-type': contentType }, body }),
        )
      }
    })

    test('is refused with lone surrogates in JSON', async () => {
      expectOAuthError(
        await api.tokenByJson({ ...api.credentials(), client_id: '\ud800' }),
        401,
        'invalid_client',
      )
    })

    test('knows no parameter by the name of an inherited property', async () => {
      const { clientId, clientSecret } = api.clients.main
      const inherited = `{"__proto__":${JSON.stringify(api.credentials())}}`
      expectOAuthError(await api.tokenByJson(inherited), 400, 'unsupported_grant_type')
      const form = `__proto__=1&constructor=2&hasOwnProperty=3&grant_type=client_credentials`
      const authorization = basic(clientId, clientSecret)
      expect((await api.tokenByForm(form, { authorization })).status).toBe(200)
    })
  })

  describe('its size', () => {
    const padded = (length: number) => {
      const form = new URLSearchParams({ ...api.credentials(), padding: '' }).toString()
      return form.padEnd(length, 'x')
    }

    test('may be 16 KiB', async () => {
      expect((await api.tokenByForm(padded(MAX_BODY))).status).toBe(200)
    })

    test('of one byte more is 413, with an error of the usual shape', async () => {
      const answer = await api.tokenByForm(padded(MAX_BODY + 1))
      expect(answer.status).toBe(413)
      expect(answer.body).toEqual(oauthError(expect.any(String)))
      const json = await api.tokenByJson(JSON.stringify({ ...api.credentials(), x: 'x'.repeat(MAX_BODY) }))
      expect(json.status).toBe(413)
      expect(json.body).toEqual(oauthError(expect.any(String)))
    })

    test('of several megabytes is 413 too, with an error of the usual shape', async () => {
      const body = padded(3 * 1024 * 1024)
      const head = [
        `POST ${TOKEN} HTTP/1.1`,
        'Content-Type: application/x-www-form-urlencoded',
        `Content-Length: ${body.length}`,
      ]
      // Only the start is sent: an answer must not wait for the rest of a body that is too large anyway.
      const answer = await exchange(api.service.baseUrl, head, body.slice(0, 2 * MAX_BODY))
      expect(answer.status).toBe(413)
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(JSON.parse(answer.body)).toEqual(oauthError(expect.any(String)))
    })

    test('counts where no Content-Length announces it', async () => {
      const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
      const head = [
        `POST ${TOKEN} HTTP/1.1`,
        'Content-Type: application/x-www-form-urlencoded',
        'Transfer-Encoding: chunked',
      ]
      const small = padded(1000)
      const accepted = chunk(small.slice(0, 10)) + chunk(small.slice(10)) + chunk('')
      expect((await exchange(api.service.baseUrl, head, accepted)).status).toBe(200)
      const large = padded(MAX_BODY + 1)
      const refused = chunk(large.slice(0, 10)) + chunk(large.slice(10)) + chunk('')
      expect((await exchange(api.service.baseUrl, head, refused)).status).toBe(413)
    })
  })
})

/** The client's fault, said in the endpoint's way; which error it is the documents leave open. */
function expectRefused(answer: Answer): void {
  expect(answer.body).toEqual(oauthError(expect.any(String)))
  expect([400, 401]).toContain(answer.status)
}
