import { describe, expect, test } from 'bun:test'
import { type Credentials, rotateSecret } from '../../src/integrations/credentials.ts'
import {
  type Answer,
  newToken,
  provision,
  requestToken,
  UNKNOWN_SECRET,
  useTwoServices,
} from '../support/operator.ts'
import { until } from '../support/until.ts'

describe('a token request whose secret ends during the request', () => {
  const services = useTwoServices()

  /** The statements of the service that wait for a lock. */
  const blocked = () => services.sql`
    select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and state = 'active'`

  /** The answer to a request that starts before the commit of `ending` and continues after it. */
  async function answerAcross(credentials: Credentials, ending: string): Promise<Answer> {
    const { promise: isEnded, resolve: end } = Promise.withResolvers<void>()
    const { promise: isUnderWay, resolve: underWay } = Promise.withResolvers<void>()
    const operator = services.otherSql.begin(async sql => {
      await sql.unsafe(ending, [credentials.clientId])
      underWay()
      await isEnded
    })
    await isUnderWay
    const request = requestToken(services.baseUrls[0], credentials)
    await until('the request waits for the operator', async () => (await blocked()).length > 0)
    end()
    await operator
    return await request
  }

  test.each([
    [
      'a rotation',
      'delete from integration_secrets s using integrations i where i.id = s.integration_id and i.client_id = $1',
    ],
    ['the deletion of its integration', 'delete from integrations where client_id = $1'],
  ])('by %s gets the answer for an unknown secret, and not an internal error', async (_, ending) => {
    const answer = await answerAcross(await provision(services.sql), ending)
    expect(answer).toEqual(await requestToken(services.baseUrls[0], UNKNOWN_SECRET))
  })

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
    for (const { status } of answers) expect(status).toBeOneOf([200, 401])
    const [left] = await services.sql<{ count: number }[]>`
      select count(*)::int as count from access_tokens t
      join integration_secrets s on s.id = t.secret_id join integrations i on i.id = s.integration_id
      where i.client_id = ${old.clientId}`
    expect(left).toEqual({ count: 0 })
    expect(await requestToken(services.baseUrls[1], renewed)).toMatchObject({ status: 200 })
  })
})
