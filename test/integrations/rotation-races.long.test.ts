import { describe, expect, test } from 'bun:test'
import { rotateSecret } from '../../src/integrations/credentials.ts'
import {
  getList,
  newToken,
  provision,
  requestToken,
  UNKNOWN_TOKEN,
  useTwoServices,
} from '../support/operator.ts'

describe('a token request whose secret ends during the request', () => {
  const services = useTwoServices()

  test.each([
    [
      'a rotation',
      'delete from integration_secrets s using integrations i where i.id = s.integration_id and i.client_id = $1',
    ],
    ['the deletion of its integration', 'delete from integrations where client_id = $1'],
  ])(
    'by %s does not wait for the commit, after which its token is refused like an unknown one',
    async (_, ending) => {
      const credentials = await provision(services.sql)
      const answer = await services.otherSql.begin(async sql => {
        await sql.unsafe(ending, [credentials.clientId])
        return await requestToken(services.baseUrls[0], credentials)
      })
      expect(answer.status).toBe(200)
      const [refused, unknown] = await Promise.all(
        [String(answer.body.access_token), UNKNOWN_TOKEN].map(token => getList(services.baseUrls[0], token)),
      )
      expect(refused).toEqual(unknown as never)
    },
  )

  test('gets an ended token or none, when many requests run during a rotation', async () => {
    const old = await provision(services.sql)
    await newToken(services.baseUrls[0], old)
    const requests = Array.from({ length: 20 }, (_, index) =>
      requestToken(services.baseUrls[index % 2] as string, old),
    )
    const [renewed, ...answers] = await Promise.all([
      rotateSecret(services.otherSql, old.clientId, {}),
      ...requests,
    ])
    for (const { status, body } of answers) {
      expect(status).toBeOneOf([200, 401])
      expect((await getList(services.baseUrls[1], String(body.access_token ?? UNKNOWN_TOKEN))).status).toBe(
        401,
      )
    }
    expect(await requestToken(services.baseUrls[1], renewed)).toMatchObject({ status: 200 })
  })
})
