import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { MALFORMED_BASICS } from '../support/bad-values.ts'
import { world } from '../support/fixtures.ts'
import {
  type Api,
  basic,
  contract,
  expectOAuthError,
  expectToken,
  GRANT,
  oauthError,
  SCOPE,
  TOKEN,
} from './support/contract.ts'
import { rule } from './support/rule.ts'

type Clients = 'main' | 'other'
const setup = { lines: world(), integrations: { main: SCOPE, other: SCOPE } } as const

contract('The client', setup, api => {
  describe('of a token request', () => {
    test('is not read from the query string', async () => {
      const { client_id, client_secret } = api.credentials()
      const by = (query: string, params: Record<string, string>) =>
        api.request(`${TOKEN}?${query}`, { method: 'POST', body: new URLSearchParams(params) })
      const inQuery = await by(`client_id=${client_id}&client_secret=${client_secret}`, GRANT)
      expectOAuthError(inQuery, 401, 'invalid_client')
      const wrongInQuery = 'client_id=nobody&client_secret=x&grant_type=password'
      await expectToken(api, await by(wrongInQuery, api.credentials()))
    })

    test(
      rule('gets exactly the same 401 if it is unknown, has a wrong secret or is disabled', 'T5'),
      async () => {
        const { sql } = api.service
        const { clientId, clientSecret } = api.clients.main
        const disabled = api.clients.other
        const attempts: Record<string, { client_id: string; client_secret: string }> = {
          unknown: { client_id: 'nobody', client_secret: clientSecret },
          unlike: { client_id: clientId, client_secret: `${clientSecret}x` },
          cut: { client_id: clientId, client_secret: clientSecret.slice(0, -1) },
          swapped: { client_id: clientSecret, client_secret: clientId },
          foreign: { client_id: clientId, client_secret: disabled.clientSecret },
          otherCase: { client_id: clientId, client_secret: swapCase(clientSecret) },
          otherCaseId: { client_id: swapCase(clientId), client_secret: clientSecret },
          nul: { client_id: `${clientId}\0`, client_secret: clientSecret },
          long: { client_id: 'x'.repeat(8000), client_secret: clientSecret },
          disabled: { client_id: disabled.clientId, client_secret: disabled.clientSecret },
        }
        await sql`update integrations set disabled_at = now() where client_id = ${disabled.clientId}`
        const answers: [string, number, unknown, string | null][] = []
        try {
          for (const [name, client] of Object.entries(attempts)) {
            for (const answer of [
              await api.tokenByForm({ ...GRANT, ...client }),
              await api.tokenByJson({ ...GRANT, ...client }),
              await api.tokenByForm(GRANT, { authorization: basic(client.client_id, client.client_secret) }),
            ]) {
              answers.push([name, answer.status, answer.text, answer.headers.get('www-authenticate')])
            }
          }
        } finally {
          await sql`update integrations set disabled_at = null where client_id = ${disabled.clientId}`
        }
        const model = await api.tokenByForm({ ...GRANT, client_id: 'nobody', client_secret: 'x' })
        expectOAuthError(model, 401, 'invalid_client')
        const challenge = model.headers.get('www-authenticate')
        expect(answers).toEqual(answers.map(([name]) => [name, 401, model.text, challenge]))
        await expectToken(api, await api.tokenByForm(api.credentials('other')))
      },
    )

    test('must have an id and a secret: an empty value counts as missing', async () => {
      const { client_id, client_secret } = api.credentials()
      const attempts: Record<string, string>[] = [
        GRANT,
        { ...GRANT, client_id },
        { ...GRANT, client_secret },
        { ...GRANT, client_id, client_secret: '' },
        { ...GRANT, client_id: '', client_secret },
        { ...GRANT, client_id: '', client_secret: '' },
      ]
      for (const params of attempts) {
        expectOAuthError(await api.tokenByForm(params), 401, 'invalid_client')
        expectOAuthError(await api.tokenByJson(params), 401, 'invalid_client')
      }
      for (const authorization of [basic(client_id, ''), basic('', client_secret), basic('', '')]) {
        expectOAuthError(await api.tokenByForm(GRANT, { authorization }), 401, 'invalid_client')
      }
    })

    test.each(MALFORMED_BASICS)('is not accepted from the malformed header %j', async authorization => {
      expectOAuthError(await api.tokenByForm(GRANT, { authorization }), 401, 'invalid_client')
      const body = api.credentials()
      expectOAuthError(await api.tokenByForm(body, { authorization }), 400, 'invalid_request')
    })

    test.each<[how: string, spoilt: (good: string) => string]>([
      ['without its padding', good => good.replace(/=+$/, '')],
      ['with more padding', good => `${good}=`],
      ['with text after its padding', good => `${good}QQ==`],
      ['with a blank inside', good => `${good.slice(0, 8)} ${good.slice(8)}`],
      ['with characters that are not of base64', good => `${good.slice(0, 8)}!${good.slice(8)}`],
      ['with bits after its last byte', good => good.replace(/.(?==)/, last => nextLetter(last))],
    ])('is not accepted from Basic credentials %s', async (_, spoilt) => {
      const { client_id, client_secret } = api.credentials()
      // 68 bytes, so that the encoding ends in one character of padding.
      const good = btoa(`${client_id}:${client_secret}`)
      expect(good).toEndWith('=')
      const authorization = `Basic ${spoilt(good)}`
      expectOAuthError(await api.tokenByForm(GRANT, { authorization }), 401, 'invalid_client')
    })

    test('is not accepted from Basic credentials with bytes that are not UTF-8, or control characters', async () => {
      const { clientId } = api.clients.main
      for (const [secret, bytes] of [
        ['\ufffd', Buffer.of(0xff)],
        ['a\tb', Buffer.from('a\tb')],
        ['a\u007f', Buffer.from('a\u007f')],
      ] as const)
        await withSecret(api, secret, async () => {
          const authorization = `Basic ${Buffer.concat([Buffer.from(`${clientId}:`), bytes]).toString('base64')}`
          expectOAuthError(await api.tokenByForm(GRANT, { authorization }), 401, 'invalid_client')
        })
    })

    test('is not accepted with two Authorization headers, whatever they and the body have', async () => {
      const basic = api.basic().authorization
      const bearer = api.bearer().authorization
      for (const [first, second] of [
        [basic, basic],
        [basic, 'Basic'],
        [basic, bearer],
        [bearer, basic],
        [bearer, bearer],
        ['Digest username="a", realm="b"', basic],
      ])
        for (const params of [GRANT, api.credentials()]) {
          const body = new URLSearchParams(params).toString()
          const { status, text } = await api.raw(
            [
              `POST ${TOKEN} HTTP/1.1`,
              `Authorization: ${first}`,
              'Content-Type: application/x-www-form-urlencoded',
              `Content-Length: ${body.length}`,
              `Authorization: ${second}`,
            ],
            body,
          )
          expect([first, second, status, JSON.parse(text)]).toEqual([
            first,
            second,
            400,
            oauthError('invalid_request'),
          ])
        }
    })

    test('is read from the body beside one header of another scheme', async () => {
      for (const authorization of [api.bearer().authorization, 'Digest username="a", realm="b, c", qop=auth'])
        await expectToken(api, await api.tokenByForm(api.credentials(), { authorization }))
    })

    test.each(['basic', 'BASIC', 'bAsIc'])('may be sent under the scheme %s', async scheme => {
      const authorization = api.basic().authorization.replace('Basic', scheme)
      await expectToken(api, await api.tokenByForm(GRANT, { authorization }))
    })

    test('in a Basic header ends at the first colon', async () => {
      await withSecret(api, 'left:right:', async () => {
        const authorization = basic(api.clients.main.clientId, 'left:right:')
        await expectToken(api, await api.tokenByForm(GRANT, { authorization }))
      })
    })

    test('in a Basic header is form-decoded, as is its secret', async () => {
      const { clientId, clientSecret } = api.clients.main
      const authorization = basic(percent(clientId), percent(clientSecret))
      await expectToken(api, await api.tokenByForm(GRANT, { authorization }))
      await withSecret(api, 'sp ace-_:é', async () => {
        const encoded = basic(clientId, 'sp+ace%2D%5F%3A%C3%A9')
        await expectToken(api, await api.tokenByForm(GRANT, { authorization: encoded }))
      })
    })

    test.each(['100%', '50%+x', 'a%zzb', '%4'])(
      'in a Basic header is taken literally if percent signs do not form escapes: %j',
      async secret => {
        await withSecret(api, secret, async () => {
          const authorization = basic(api.clients.main.clientId, secret)
          await expectToken(api, await api.tokenByForm(GRANT, { authorization }))
        })
      },
    )
  })
})

/** Calls `use` while the main integration also has this secret, of which the database has only the digest. */
async function withSecret(api: Api<Clients>, secret: string, use: () => Promise<void>): Promise<void> {
  const { sql } = api.service
  const digest = `\\x${createHash('sha256').update(secret).digest('hex')}`
  await sql`
    insert into integration_secrets (integration_id, digest)
    select id, ${digest} from integrations where client_id = ${api.clients.main.clientId}`
  try {
    await use()
  } finally {
    await sql`delete from integration_secrets where digest = ${digest}`
  }
}

function swapCase(text: string): string {
  return text.replace(/[a-z]/gi, char => (char < 'a' ? char.toLowerCase() : char.toUpperCase()))
}

/** The next letter of the alphabet of base64. */
function nextLetter(letter: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  return alphabet[alphabet.indexOf(letter) + 1] as string
}

function percent(text: string): string {
  return text.replace(/./g, char => `%${char.charCodeAt(0).toString(16)}`)
}
