import { expect, test } from 'bun:test'
import { assessment, world } from '../support/fixtures.ts'
import { contract, LIST, messageOnly, NOTHING, SCOPE } from './support/contract.ts'
import { rule } from './support/rule.ts'

const setup = {
  lines: [...world(), assessment(9001)],
  integrations: {
    complete: SCOPE,
    noOrganizations: { organizations: [], products: [1] },
    noProducts: { organizations: [10], products: [] },
    nothing: NOTHING,
  },
} as const
const PATHS = [LIST, `${LIST}/9001`]
const TENANTS = /\b(invalid|missing)\b.*\btenant ids\b/i
const PRODUCTS = /\b(invalid|missing)\b.*\bproduct ids\b/i

contract('An integration that is not fully provisioned', setup, api => {
  test.each([
    [rule('without organizations gets 400 about tenant ids', 'A4', 'G5'), 'noOrganizations', TENANTS],
    [rule('without assessments gets 400 about product ids', 'A5', 'G5'), 'noProducts', PRODUCTS],
    ['without either gets 400 about tenant ids', 'nothing', TENANTS],
  ] as const)('%s', async (_, integration, message) => {
    for (const path of PATHS) {
      const { status, body, headers } = await api.get(path, integration)
      expect([status, body]).toEqual([400, messageOnly(message)])
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(headers.get('www-authenticate')).toBeNull()
      expect(headers.get('x-content-type-options')).toBe('nosniff')
    }
  })

  test('gets this 400 before its parameters or a record are checked', async () => {
    for (const path of [`${LIST}?page=abc`, `${LIST}?filter[seids][]=%00`, `${LIST}/0`, `${LIST}/abc`]) {
      expect((await api.get(path, 'noOrganizations')).body).toEqual(messageOnly(TENANTS))
      expect((await api.get(path, 'noProducts')).body).toEqual(messageOnly(PRODUCTS))
    }
  })

  test('gets this 400 only with a valid token', async () => {
    const bearer = await api.newToken('nothing')
    await api.expire(bearer)
    for (const path of PATHS) expect((await api.get(path, { bearer })).status).toBe(401)
  })

  test(rule('gets this 400 until the operator completes the scope', 'A4'), async () => {
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
