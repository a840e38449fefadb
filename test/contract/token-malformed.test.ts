import { describe, expect, test } from 'bun:test'
import { NO_JSON_OBJECTS, NO_UTF8, words } from '../support/bad-values.ts'
import { world } from '../support/fixtures.ts'
import { contract, expectOAuthError, GRANT, oauthError, SCOPE, TOKEN } from './support/contract.ts'

const setup = { lines: world(), integrations: { main: SCOPE, other: SCOPE } } as const
const MAX_BODY = 16 * 1024
const NAMES = ['grant_type', 'client_id', 'client_secret'] as const

contract('An ambiguous or malformed token request', setup, api => {
  describe('with both a Basic header and a body', () => {
    /** The answers to both kinds of body beside a valid Basic header. */
    const both = async (params: Record<string, string>) => [
      await api.tokenByForm(params, api.basic()),
      await api.tokenByJson(params, api.basic()),
    ]

    test('is invalid_request if both contain credentials, even equal ones', async () => {
      const { client_secret, ...rest } = api.credentials()
      for (const params of [
        { ...rest, client_secret },
        { ...GRANT, client_secret },
      ])
        for (const answer of await both(params)) expectOAuthError(answer, 400, 'invalid_request')
    })

    test('is valid if the body only repeats the client_id, or if its credentials are empty', async () => {
      for (const params of [{ client_id: api.clients.main.clientId }, { client_id: '', client_secret: '' }])
        for (const { status } of await both({ ...GRANT, ...params })) expect(status).toBe(200)
    })

    test('is invalid_client if the body has another client_id', async () => {
      for (const client_id of ['nobody', api.clients.other.clientId])
        for (const answer of await both({ ...GRANT, client_id }))
          expectOAuthError(answer, 401, 'invalid_client')
    })

    test('is unsupported_grant_type before any other error', async () => {
      for (const answer of await both({ ...api.credentials(), grant_type: 'password' }))
        expectOAuthError(answer, 400, 'unsupported_grant_type')
    })
  })

  describe('with invalid parameters', () => {
    test.each(NAMES)(
      'is invalid_request if the parameter %s is repeated, even with the same value',
      async name => {
        const params = api.credentials()
        for (const value of [params[name], 'x']) {
          const answer = await api.tokenByForm([...Object.entries(params), [name, value]])
          expectOAuthError(answer, 400, 'invalid_request')
        }
      },
    )

    test.each(NAMES)(
      'is invalid_request if the key %s of a JSON object is repeated, however it is escaped',
      async name => {
        const params = api.credentials()
        const members = JSON.stringify(params).slice(1, -1)
        const escaped = name.replace(/./, first => `\\u00${first.charCodeAt(0).toString(16)}`)
        for (const key of [name, escaped])
          for (const value of [JSON.stringify(params[name]), '"x"', 'null', '""'])
            for (const body of [`{${members},"${key}":${value}}`, `{"${key}" : ${value},${members}}`])
              expectOAuthError(await api.tokenByJson(body), 400, 'invalid_request')
      },
    )

    test('is invalid_request if any other key of a JSON object is repeated', async () => {
      const members = JSON.stringify(api.credentials()).slice(1, -1)
      for (const more of ['"x":1,"x":1', '"x":{"client_id":1,"client\\u005fid":1}', '"x":[{"":0,"":0}]'])
        expectOAuthError(await api.tokenByJson(`{${members},${more}}`), 400, 'invalid_request')
    })

    test('may have a key twice in two JSON objects, and colons and quotes in its texts', async () => {
      const members = JSON.stringify(api.credentials()).slice(1, -1)
      const more = '"x":{"client_id":1},"y":[{"client_id":{}}],"z":"\\",\\"client_id\\":\\"","a\\":":"::"'
      expect((await api.tokenByJson(`{${members},${more}}`)).status).toBe(200)
    })

    test.each(NO_JSON_OBJECTS)(
      'is invalid_request if its content type is JSON and its body is not a JSON object: %j',
      async body => {
        expectOAuthError(await api.tokenByJson(body), 400, 'invalid_request')
        expectOAuthError(await api.tokenByJson(body, api.basic()), 400, 'invalid_request')
      },
    )

    test.each(['5', 'true', '["client_credentials"]', '{"toString":"x"}', '[]', '{}'])(
      'is invalid_request if a JSON value is not a string: %s',
      async value => {
        for (const name of NAMES) {
          const answer = await api.tokenByJson({ ...api.credentials(), [name]: JSON.parse(value) })
          expectOAuthError(answer, 400, 'invalid_request')
        }
      },
    )

    test.each(['[]', '[0]', '[x]', '[', '%5B%5D'])(
      'does not contain a parameter whose form key has the brackets %s',
      async brackets => {
        for (const name of NAMES) {
          const { [name]: value, ...rest } = api.credentials()
          const answer = await api.tokenByForm(`${new URLSearchParams(rest)}&${name}${brackets}=${value}`)
          if (name === 'grant_type') expectOAuthError(answer, 400, 'unsupported_grant_type')
          else expectOAuthError(answer, 401, 'invalid_client')
        }
      },
    )

    const clients = [...NO_UTF8, 'a%00b'].map(text => `client_id=${text}`)
    test.each([...clients, ...words('=x &&& client_id %00=1')])(
      'is invalid_client for the form %j',
      async form => {
        const answer = await api.tokenByForm(`grant_type=client_credentials&client_secret=x&${form}`)
        expectOAuthError(answer, 401, 'invalid_client')
      },
    )

    test.each([
      ['application/json', 'invalid_request'],
      ['application/x-www-form-urlencoded', 'unsupported_grant_type'],
    ])('is, for bytes that are not UTF-8 as %s, %s', async (contentType, error) => {
      const body = new Uint8Array([0x7b, 0xff, 0xfe, 0x00, 0x7d])
      const headers = { 'content-type': contentType }
      expectOAuthError(await api.request(TOKEN, { method: 'POST', headers, body }), 400, error)
    })

    test('is invalid_client for lone surrogates in JSON', async () => {
      const answer = await api.tokenByJson({ ...api.credentials(), client_id: '\ud800' })
      expectOAuthError(answer, 401, 'invalid_client')
    })

    test('contains no parameters from inherited properties', async () => {
      const inherited = `{"__proto__":${JSON.stringify(api.credentials())}}`
      expectOAuthError(await api.tokenByJson(inherited), 400, 'unsupported_grant_type')
      const form = '__proto__=1&constructor=2&hasOwnProperty=3&grant_type=client_credentials'
      expect((await api.tokenByForm(form, api.basic())).status).toBe(200)
    })
  })

  test('has no credentials in the header if its scheme only begins with Basic', async () => {
    const other = { authorization: api.basic().authorization.replace('Basic', 'Basic-Ext') }
    expectOAuthError(await api.tokenByForm(GRANT, other), 401, 'invalid_client')
    expect((await api.tokenByForm(api.credentials(), other)).status).toBe(200)
  })

  describe('with a body', () => {
    const head = [`POST ${TOKEN} HTTP/1.1`, 'Content-Type: application/x-www-form-urlencoded']
    const padded = (length: number) =>
      `${new URLSearchParams({ ...api.credentials(), padding: '' })}`.padEnd(length, 'x')

    test('of 16 KiB is accepted', async () => {
      expect((await api.tokenByForm(padded(MAX_BODY))).status).toBe(200)
    })

    test('of one byte more is 413 with an OAuth error', async () => {
      expectOAuthError(await api.tokenByForm(padded(MAX_BODY + 1)), 413, 'invalid_request')
      const json = { ...api.credentials(), x: 'x'.repeat(MAX_BODY) }
      expectOAuthError(await api.tokenByJson(json), 413, 'invalid_request')
    })

    test('of several megabytes is 413 with an OAuth error', async () => {
      const body = padded(3 * 1024 * 1024)
      // Only the start of the body is sent: the answer must not wait for the rest.
      const start = body.slice(0, 2 * MAX_BODY)
      const { status, headers, text } = await api.raw([...head, `Content-Length: ${body.length}`], start)
      expect([status, JSON.parse(text)]).toEqual([413, oauthError('invalid_request')])
      expect(headers.get('cache-control')).toBe('no-store')
    })

    test('with a Content-Encoding is 415, which names what is accepted', async () => {
      const form = `${new URLSearchParams(api.credentials())}`
      for (const coding of ['gzip', 'GZIP', 'br', 'identity, gzip']) {
        const headers = {
          'content-type': 'application/x-www-form-urlencoded',
          'content-encoding': coding,
        }
        const body = coding === 'gzip' ? Bun.gzipSync(Buffer.from(form)) : form
        const answer = await api.request(TOKEN, { method: 'POST', headers, body })
        expectOAuthError(answer, 415, 'invalid_request')
        expect(answer.headers.get('accept-encoding')).toBe('identity')
      }
      expect((await api.tokenByForm(form, { 'content-encoding': 'identity' })).status).toBe(200)
    })

    test('is limited to the same size without Content-Length', async () => {
      const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
      for (const [length, status] of [
        [MAX_BODY, 200],
        [MAX_BODY + 1, 413],
      ] as const) {
        const body = padded(length)
        const chunks = chunk(body.slice(0, 10)) + chunk(body.slice(10)) + chunk('')
        expect((await api.raw([...head, 'Transfer-Encoding: chunked'], chunks)).status).toBe(status)
      }
    })
  })
})
