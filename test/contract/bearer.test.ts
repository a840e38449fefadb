import { expect, test } from 'bun:test'
import { malformedBearers } from '../support/bad-values.ts'
import { assessment, organization, world } from '../support/fixtures.ts'
import { contract, LIST, SCOPE } from './support/contract.ts'
import { rule } from './support/rule.ts'

const setup = {
  lines: [...world(), organization(20), assessment(9001)],
  integrations: { main: SCOPE, other: SCOPE },
} as const
const PATHS = [LIST, `${LIST}/9001`]

contract('The bearer token', setup, api => {
  /** The body of the 401 for a missing or invalid token. */
  const refusal = async () => {
    const { status, body, text } = await api.request(LIST)
    const description = expect.stringMatching(/token.*invalid|invalid.*token/i)
    expect([status, body]).toEqual([401, { error: 'invalid_token', error_description: description }])
    return text
  }

  const expectRefused = async (authorization: string) => {
    const expected = await refusal()
    for (const path of PATHS) {
      const { status, text, headers } = await api.request(path, { headers: { authorization } })
      expect([authorization, status, text]).toEqual([authorization, 401, expected])
      expect(headers.get('content-type')).toMatch(/^application\/json/)
      expect(headers.get('www-authenticate')).toMatch(/^Bearer realm="[^"]+"/)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
    }
  }

  /**
   * Like `expectRefused`, for a text in place of a token: the challenge also has the error and its
   * description.
   */
  const expectInvalid = async (token: string) => {
    await expectRefused(`Bearer ${token}`)
    const { error_description: description } = JSON.parse(await refusal()) as { error_description: string }
    for (const path of PATHS) {
      const challenge = (await api.get(path, { bearer: token })).headers.get('www-authenticate')
      expect(challenge).toMatch(/^Bearer realm="[^"]+", error="invalid_token", error_description="[^"]+"$/)
      expect(challenge).toEndWith(`error_description="${description}"`)
    }
  }

  test.each(['Bearer', 'bearer', 'BEARER', 'bEaReR'])(
    rule('is accepted after the scheme %s', 'A1'),
    async scheme => {
      for (const path of PATHS) {
        const headers = { authorization: `${scheme} ${api.clients.main.token}` }
        expect((await api.request(path, { headers })).status).toBe(200)
      }
    },
  )

  test(
    rule('gets 401 invalid_token if it is missing, with a challenge that has only the realm', 'A3', 'G4'),
    async () => {
      const expected = await refusal()
      for (const path of PATHS) {
        const { status, text, headers } = await api.request(path)
        expect([status, text]).toEqual([401, expected])
        expect(headers.get('www-authenticate')).toMatch(/^Bearer realm="[^"]+"$/)
        expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
        expect(headers.get('x-content-type-options')).toBe('nosniff')
      }
    },
  )

  test(rule('gets the same 401 body if it is malformed', 'A3', 'G4'), async () => {
    for (const authorization of malformedBearers(api.clients.main.token)) await expectRefused(authorization)
  })

  test('gets the same 401 body if it is unknown, and the challenge describes the error', async () => {
    const { token, clientSecret, clientId } = api.clients.main
    const swapped = token.replace(/[a-z]/gi, char => (char < 'a' ? char.toLowerCase() : char.toUpperCase()))
    for (const unknown of ['x', '0', token.slice(1), token.slice(0, -1), `${token}x`, swapped]) {
      await expectInvalid(unknown)
    }
    for (const unknown of [clientSecret, clientId, 'x'.repeat(6000), "'", '%00', 'null', 'undefined', '..']) {
      await expectRefused(`Bearer ${unknown}`)
    }
  })

  test('never causes a 500, even with bytes that no token contains', async () => {
    for (const bytes of ['\x80\xff', '\xc3\xa9', '\t', 'a\tb']) {
      const { status, text } = await api.raw([`GET ${LIST} HTTP/1.1`, `Authorization: Bearer ${bytes}`])
      expect([bytes, status, text]).toEqual([bytes, 401, await refusal()])
    }
  })

  test(
    rule(
      'gets the same 401 body after it expires, and a new token is issued in the same way',
      'T8',
      'A3',
      'G4',
    ),
    async () => {
      const bearer = await api.newToken()
      expect((await api.tryList('', { bearer })).status).toBe(200)
      await api.expire(bearer)
      await expectInvalid(bearer)
      expect((await api.tryList('', { bearer: await api.newToken() })).status).toBe(200)
    },
  )

  test(rule('is valid until it expires', 'T8'), async () => {
    const bearer = await api.newToken()
    await api.expire(bearer, 300)
    expect((await api.tryList('', { bearer })).status).toBe(200)
  })

  test(rule('ends with the secret that issued it, and then gets the same 401 body', 'T9'), async () => {
    const bearer = await api.newToken('other')
    const { sql } = api.service
    const id = sql`select id from integrations where client_id = ${api.clients.other.clientId}`
    const [secret] = await sql<{ id: string; digest: Uint8Array }[]>`
      delete from integration_secrets where integration_id = (${id}) returning id, digest`
    if (!secret) throw new Error('there was no secret')
    await expectInvalid(bearer)
    await expectInvalid(api.clients.other.token)
    expect((await api.get(LIST)).status).toBe(200)

    await sql`insert into integration_secrets (integration_id, digest) values ((${id}), ${secret.digest})`
    await expectInvalid(bearer)
    api.clients.other.token = await api.newToken('other')
    expect((await api.get(LIST, 'other')).status).toBe(200)
  })

  test('is not read from the query string', async () => {
    const { token } = api.clients.main
    const expected = await refusal()
    for (const path of PATHS) {
      for (const name of ['access_token', 'bearer_token', 'token']) {
        const { status, text, headers } = await api.request(`${path}?${name}=${token}`)
        expect([status, text]).toEqual([401, expected])
        expect(headers.get('www-authenticate')).toMatch(/^Bearer realm="[^"]+"$/)
      }
      const headers = { authorization: 'Bearer x' }
      expect((await api.request(`${path}?access_token=${token}`, { headers })).status).toBe(401)
      expect((await api.get(`${path}?access_token=x`)).status).toBe(200)
    }
  })

  test('is not read from a body', async () => {
    const body = `access_token=${api.clients.main.token}`
    const form = 'Content-Type: application/x-www-form-urlencoded'
    const answer = await api.raw([`GET ${LIST} HTTP/1.1`, form, `Content-Length: ${body.length}`], body)
    expect([answer.status, answer.text]).toEqual([401, await refusal()])
  })

  test("cannot be replaced by the client's credentials", async () => {
    await expectRefused(api.basic().authorization)
  })

  test('is checked before the parameters and before the record is read', async () => {
    const expected = await refusal()
    for (const path of [`${LIST}?page=abc`, `${LIST}?filter[search]=%FF`, `${LIST}/0`, `${LIST}/abc`]) {
      const { status, text } = await api.get(path, { bearer: 'x' })
      expect([path, status, text]).toEqual([path, 401, expected])
    }
  })

  test(rule('gives access to the current scope of its integration', 'A2'), async () => {
    const { sql } = api.service
    const { clientId } = api.clients.other
    expect(await api.ids('', 'other')).toEqual([9001])
    await sql`update integrations set organization_ids = '{20}' where client_id = ${clientId}`
    try {
      expect(await api.ids('', 'other')).toEqual([])
      expect((await api.get(`${LIST}/9001`, 'other')).status).toBe(404)
      expect(await api.ids()).toEqual([9001])
    } finally {
      await sql`update integrations set organization_ids = '{10}' where client_id = ${clientId}`
    }
    expect(await api.ids('', 'other')).toEqual([9001])
  })

  test(rule('gives access to the scope of its integration, for any requested scope', 'A2'), async () => {
    const { body } = await api.tokenByForm({ ...api.credentials(), scope: 'none' })
    const { access_token: bearer } = body as { access_token: string }
    expect(await api.ids('', { bearer })).toEqual([9001])
  })
})
