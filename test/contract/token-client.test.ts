import { describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { world } from '../support/fixtures.ts'
import {
  type Api,
  basic,
  contract,
  expectOAuthError,
  expectToken,
  GRANT,
  SCOPE,
  TOKEN,
} from './support/contract.ts'

type Clients = 'main' | 'other'
const setup = { lines: world(), integrations: { main: SCOPE, other: SCOPE } }

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

    // rule: 7.1 invalid_client
    test('gets exactly the same 401 if it is unknown, has a wrong secret or is disabled', async () => {
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
    })

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

    test.each(['Basic', 'Basic ', 'Basic !!!!', 'Basic bm9jb2xvbg==', 'Basic =', 'Basic w6k6/w=='])(
      'is not accepted from the malformed header %j',
      async authorization => {
        expectOAuthError(await api.tokenByForm(GRANT, { authorization }), 401, 'invalid_client')
      },
    )

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
  const digest = createHash('sha256').update(secret).digest()
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

function percent(text: string): string {
  return text.replace(/./g, char => `%${char.charCodeAt(0).toString(16)}`)
}
