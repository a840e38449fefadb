import { describe, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import { rotateSecret } from '../../src/integrations/credentials.ts'
import { deleteIntegration, setDisabled } from '../../src/integrations/lifecycle.ts'
import {
  type IntegrationReport,
  type IntegrationSummary,
  listIntegrations,
  reportIntegration,
} from '../../src/integrations/report.ts'
import { getList, newToken, provision, useTwoServices } from '../support/operator.ts'
import { until } from '../support/until.ts'
import { expectAlive, expectUnknown } from './standing.ts'

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

/** The client ids in a list, in its order. */
const clientIds = (list: IntegrationSummary<number>[]) => list.map(integration => integration.client_id)

/** The entry of one integration in the list. */
async function summaryOf(sql: Sql, clientId: string): Promise<IntegrationSummary<number> | undefined> {
  return (await listIntegrations(sql)).find(summary => summary.client_id === clientId)
}

describe('integrations', () => {
  const services = useTwoServices()
  const everywhere = <T>(ask: (baseUrl: string) => Promise<T>) => Promise.all(services.baseUrls.map(ask))
  const report = (clientId: string) => reportIntegration(services.sql, clientId)

  test('the list has every integration with the size of its scope, the oldest first', async () => {
    const before = clientIds(await listIntegrations(services.sql))
    const first = await provision(services.sql, ['10', '11'], ['1'])
    const second = await provision(services.sql, [], 'all')
    const list = await listIntegrations(services.sql)
    expect(clientIds(list)).toEqual([...before, first.clientId, second.clientId])
    expect(list.slice(-2)).toEqual([
      {
        client_id: first.clientId,
        name: first.name,
        purpose: null,
        contact: null,
        state: 'enabled',
        organizations: 2,
        products: 1,
        live_tokens: 0,
        created_at: expect.stringMatching(INSTANT),
        last_used_at: null,
      },
      expect.objectContaining({ client_id: second.clientId, organizations: 0, products: 3 }),
    ])
  })

  test('the list and the report count only live tokens', async () => {
    const integration = await provision(services.sql)
    const [token] = await everywhere(baseUrl => newToken(baseUrl, integration))
    await newToken(services.baseUrls[0], integration)
    await newToken(services.baseUrls[0], await provision(services.sql))
    await services.sql`
      update access_tokens set expires_at = now()
      where digest = sha256(convert_to(${token as string}, 'UTF8'))`
    const { live_tokens, secrets } = await report(integration.clientId)
    expect(live_tokens).toBe(2)
    expect(secrets.map(secret => secret.live_tokens)).toEqual([2])
    expect((await summaryOf(services.sql, integration.clientId))?.live_tokens).toBe(2)
  })

  test('the report has the names of the organizations and products in the scope, in the order of ids', async () => {
    const { clientId, name } = await provision(services.sql, ['10', '11'], ['2', '1'])
    expect(await report(clientId)).toEqual({
      client_id: clientId,
      name,
      purpose: null,
      contact: null,
      state: 'enabled',
      disabled_at: null,
      created_at: expect.stringMatching(INSTANT),
      last_used_at: null,
      live_tokens: 0,
      organizations: [
        { id: 10, name: 'Lakeside District' },
        { id: 11, name: 'Oak Valley' },
      ],
      products: [
        { id: 1, name: 'Reading Observation' },
        { id: 2, name: 'Writing Observation' },
      ],
      meant_as_all: [],
      come_since: { organizations: [], products: [] },
      secrets: [
        { created_at: expect.stringMatching(INSTANT), expires_at: null, last_used_at: null, live_tokens: 0 },
      ],
      assessments_in_scope: 3,
      obstacles: [],
    } satisfies IntegrationReport)
  })

  test('the report counts the assessments that the integration gets over HTTP', async () => {
    const integration = await provision(services.sql, ['10', '12'], ['1', '2', '3'])
    const [token] = await everywhere(baseUrl => newToken(baseUrl, integration))
    const { body } = await getList(services.baseUrls[1], token as string)
    expect(body.meta).toMatchObject({ count: 2 })
    expect((await report(integration.clientId)).assessments_in_scope).toBe(2)
  })

  test('the report has the time of the last use of a token, which is written at most once a minute', async () => {
    const [recent, longAgo] = [await provision(services.sql), await provision(services.sql)]
    const used = async (clientId: string) => (await report(clientId)).last_used_at
    const setUsed = (clientId: string, secondsAgo: number) => services.sql`
      update integration_secrets s set last_used_at = now() - make_interval(secs => ${secondsAgo})
      from integrations i where i.id = s.integration_id and i.client_id = ${clientId}`
    const tokens = await Promise.all([recent, longAgo].map(i => newToken(services.baseUrls[0], i)))
    expect([await used(recent.clientId), await used(longAgo.clientId)]).toEqual([null, null])

    await getList(services.baseUrls[1], tokens[0] as string)
    await until('the use is noted', async () => (await used(recent.clientId)) !== null)
    expect(await used(recent.clientId)).toMatch(INSTANT)
    expect((await report(recent.clientId)).secrets[0]?.last_used_at).toBe(await used(recent.clientId))
    expect((await summaryOf(services.sql, recent.clientId))?.last_used_at).toBe(await used(recent.clientId))

    await setUsed(recent.clientId, 30)
    await setUsed(longAgo.clientId, 90)
    const [before, old] = [await used(recent.clientId), await used(longAgo.clientId)]
    for (const token of tokens) await getList(services.baseUrls[0], token)
    await until('the use is noted', async () => (await used(longAgo.clientId)) !== old)
    expect(await used(recent.clientId)).toBe(before)
  })

  test('the report has the reasons for a 400, a 401 or an empty list, and advice', async () => {
    const obstacles = async (
      organizations: string[],
      products: string[],
      spoil = async (_: string) => {},
    ) => {
      const { clientId } = await provision(services.sql, organizations, products)
      await spoil(clientId)
      return (await report(clientId)).obstacles.map(text => text.replaceAll(clientId, 'ID'))
    }
    expect(await obstacles([], ['1'])).toEqual([
      '400: it has no organizations; axport integration scope ID --organizations …',
    ])
    expect(await obstacles(['10'], [])).toEqual([
      '400: it has no products; axport integration scope ID --products …',
    ])
    expect(await obstacles([], [])).toHaveLength(2)
    expect(await obstacles(['12'], ['1'])).toEqual([expect.stringMatching(/^nothing: no assessment\b/)])
    expect(await obstacles(['10'], ['3'])).toEqual([expect.stringMatching(/^nothing: no assessment\b/)])
    const disable = async (id: string) => void (await setDisabled(services.sql, id, true))
    expect(await obstacles(['10'], ['1'], disable)).toEqual([
      expect.stringMatching(/^401: .*disabled since 20.*axport integration enable ID$/),
    ])
    const endSecrets = async (id: string) =>
      void (await services.sql`
        update integration_secrets s set expires_at = now()
        from integrations i where i.id = s.integration_id and i.client_id = ${id}`)
    expect(await obstacles(['10'], ['1'], endSecrets)).toEqual([
      '401: it has no live secret; axport integration rotate ID',
    ])
  })

  test('every service refuses a disabled integration immediately, with the answer for an unknown one', async () => {
    const integration = await provision(services.sql)
    const tokens = await everywhere(baseUrl => newToken(baseUrl, integration))
    await expectAlive(services.baseUrls, integration, tokens)
    expect(await setDisabled(services.sql, integration.clientId, true)).toBe(true)
    await expectUnknown(services.baseUrls, integration, tokens)
    expect(await summaryOf(services.sql, integration.clientId)).toMatchObject({ state: 'disabled' })
    expect(await setDisabled(services.sql, integration.clientId, false)).toBe(true)
    await expectAlive(services.baseUrls, integration, tokens)
  })

  test('repeated disabling or enabling changes nothing, not even the time', async () => {
    const { clientId } = await provision(services.sql)
    expect(await setDisabled(services.sql, clientId, false)).toBe(false)
    await setDisabled(services.sql, clientId, true)
    await services.sql`update integrations set disabled_at = '2026-01-02 03:04:05Z' where client_id = ${clientId}`
    expect(await setDisabled(services.sql, clientId, true)).toBe(false)
    expect((await report(clientId)).disabled_at).toBe('2026-01-02T03:04:05Z')
  })

  test('deletion leaves no secret and no live token, and every service refuses the credentials', async () => {
    const integration = await provision(services.sql)
    const other = await provision(services.sql)
    const tokens = await everywhere(baseUrl => newToken(baseUrl, integration))
    const otherToken = await newToken(services.baseUrls[0], other)
    await rotateSecret(services.sql, integration.clientId, { graceSeconds: 3600 })
    const counts = async () => {
      const tables = ['integrations', 'integration_secrets', 'live_tokens']
      return await Promise.all(
        tables.map(async table => (await services.sql`select from ${services.sql(table)}`).count),
      )
    }
    const [integrations = 0, secrets = 0, tokenCount = 0] = await counts()
    expect(await deleteIntegration(services.sql, integration.clientId)).toBe(integration.name)
    expect(await counts()).toEqual([integrations - 1, secrets - 2, tokenCount - 2])
    await expectUnknown(services.baseUrls, integration, tokens)
    await expectAlive(services.baseUrls, other, [otherToken])
  })
})
