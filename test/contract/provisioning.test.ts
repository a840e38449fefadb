import { expect, test } from 'bun:test'
import { contract, LIST, messageOnly } from './support/contract.ts'
import { assessment, world } from './support/lines.ts'

const setup = {
  lines: [...world(), assessment(9001)],
  integrations: {
    complete: [[10], [1]],
    noOrganizations: [[], [1]],
    noProducts: [[10], []],
    nothing: [[], []],
  },
} as const
const PATHS = [LIST, `${LIST}/9001`]
const TENANTS = /\b(invalid|missing)\b.*\btenant ids\b/i
const PRODUCTS = /\b(invalid|missing)\b.*\bproduct ids\b/i

contract('An integration that is not fully provisioned', setup, api => {
  test('without organizations gets 400 about tenant ids', async () => {
    for (const path of PATHS) {
      const { status, body, headers } = await api.get(path, 'noOrganizations')
      expect(status).toBe(400)
      expect(body).toEqual(messageOnly(TENANTS))
      expect(headers.get('content-type')).toMatch(/^application\/json/)
      expect(headers.get('www-authenticate')).toBeNull()
      expect(headers.get('x-content-type-options')).toBe('nosniff')
    }
  })

  test('without assessments gets 400 about product ids', async () => {
    for (const path of PATHS) {
      const { status, body, headers } = await api.get(path, 'noProducts')
      expect(status).toBe(400)
      expect(body).toEqual(messageOnly(PRODUCTS))
      expect(headers.get('content-type')).toMatch(/^application\/json/)
      expect(headers.get('www-authenticate')).toBeNull()
    }
  })

  test('without either is told of the organizations first', async () => {
    for (const path of PATHS) {
      const { status, body } = await api.get(path, 'nothing')
      expect(status).toBe(400)
      expect((body as { errors: { message: string }[] }).errors[0]?.message).toMatch(TENANTS)
    }
  })

  test('is told so before its parameters are read or anything is looked up', async () => {
    for (const path of [`${LIST}?page=abc`, `${LIST}?filter[seids][]=%00`, `${LIST}/0`, `${LIST}/abc`]) {
      expect((await api.get(path, 'noOrganizations')).body).toEqual(messageOnly(TENANTS))
      expect((await api.get(path, 'noProducts')).body).toEqual(messageOnly(PRODUCTS))
    }
  })

  test('is told so only with a valid token', async () => {
    const { sql } = api.service
    const bearer = await api.newToken('nothing')
    await sql`
      update access_tokens set expires_at = now() - interval '1 second'
      where digest = sha256(convert_to(${bearer}, 'UTF8'))`
    for (const path of PATHS) expect((await api.get(path, { bearer })).status).toBe(401)
  })

  test('is not cured by retrying, but by the operator', async () => {
    const { sql } = api.service
    const { clientId } = api.clients.noOrganizations
    expect((await api.get(LIST, 'noOrganizations')).status).toBe(400)
    expect((await api.get(LIST, 'noOrganizations')).status).toBe(400)
    await sql`update integrations set organization_ids = '{10}' where client_id = ${clientId}`
    try {
      expect(await api.ids('', 'noOrganizations')).toEqual([9001])
    } finally {
      await sql`update integrations set organization_ids = '{}' where client_id = ${clientId}`
    }
    expect((await api.get(LIST, 'noOrganizations')).status).toBe(400)
  })
})
