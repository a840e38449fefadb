import { describe, expect, test } from 'bun:test'
import { reportIntegration } from '../../src/integrations/report.ts'
import { addNew, type ChangedScope, changeScope, type SetChange } from '../../src/integrations/scope.ts'
import { organization, product, removal } from '../support/fixtures.ts'
import { getList, ids, newToken, provision, useTwoServices } from '../support/operator.ts'
import { load } from '../support/service.ts'

describe('the scope of an integration', () => {
  const services = useTwoServices()

  const organizationsOf = async (clientId: string) =>
    (await reportIntegration(services.sql, clientId)).organizations.map(({ id }) => id)
  const productsOf = async (clientId: string) =>
    (await reportIntegration(services.sql, clientId)).products.map(({ id }) => id)

  /** Changes one set of a new integration with organization 10 and products 1 and 2. */
  async function changed(organizations: SetChange, products: SetChange = {}): Promise<ChangedScope> {
    const { clientId } = await provision(services.sql, ['10'], ['1', '2'])
    const result = await changeScope(services.sql, clientId, organizations, products)
    expect(await organizationsOf(clientId)).toEqual(result.organizations.ids.map(Number))
    expect(await productsOf(clientId)).toEqual(result.products.ids.map(Number))
    return result
  }

  test('has the ids given at its creation, each once', async () => {
    const { clientId } = await provision(services.sql, ['12', '10', '10'], ['2'])
    expect(await organizationsOf(clientId)).toEqual([10, 12])
    expect(await productsOf(clientId)).toEqual([2])
  })

  test('given as "all" has everything that exists at that time, and later data after --add-new', async () => {
    const created = await provision(services.sql, 'all', 'all')
    const replaced = await provision(services.sql, [], [])
    await changeScope(services.sql, replaced.clientId, { replace: 'all' }, { add: 'all' })
    await load(services.sql, [organization(14), product(5)])
    for (const { clientId } of [created, replaced]) {
      expect(await organizationsOf(clientId)).toEqual([10, 11, 12])
      expect(await productsOf(clientId)).toEqual([1, 2, 3])
      const before = await reportIntegration(services.sql, clientId)
      expect(before.come_since).toEqual({
        organizations: [{ id: 14, name: 'Organization 14' }],
        products: [{ id: 5, name: 'Product 5' }],
      })
      await addNew(services.sql, clientId)
      const { organizations, products, come_since } = await reportIntegration(services.sql, clientId)
      expect(organizations.map(({ id }) => id)).toEqual([10, 11, 12, 14])
      expect(products.map(({ id }) => id)).toEqual([1, 2, 3, 5])
      expect(come_since).toEqual({ organizations: [], products: [] })
    }
    await load(services.sql, [removal('organization', 14), removal('product', 5)])
  })

  test.each<[string, SetChange, boolean]>([
    ['still counts as "all" after ids are added', { add: ['10'] }, true],
    ['still counts as "all" if nothing is removed', { remove: [] }, true],
    ['still counts as "all" if only the products change', {}, true],
    ['becomes a list if a list replaces it', { replace: ['10', '11', '12'] }, false],
    ['becomes a list if ids are removed', { replace: 'all', remove: ['12'] }, false],
    ['becomes a list if all ids are removed', { remove: 'all' }, false],
  ])('%s', async (_, organizations, isMeant) => {
    const { clientId } = await provision(services.sql, 'all', ['1'])
    const changed = await changeScope(services.sql, clientId, organizations, { replace: ['2'] })
    expect([changed.organizations.meantAsAll, changed.products.meantAsAll]).toEqual([isMeant, false])
    const { meant_as_all } = await reportIntegration(services.sql, clientId)
    expect(meant_as_all).toEqual(isMeant ? ['organizations'] : [])
    // --add-new adds nothing to a set that was never given as "all", or is a list now.
    if (isMeant) expect((await addNew(services.sql, clientId)).products.ids).toEqual(['2'])
    else
      await expect(addNew(services.sql, clientId)).rejects.toThrow(`no set of ${clientId} was given as all`)
  })

  const summaryOf = ({ ids, added, removed }: ChangedScope['products']) => `${ids} +${added} -${removed}`
  test.each<[string, SetChange, SetChange, string]>([
    [
      'has exactly the new ids after a replacement',
      { replace: ['12', '11'] },
      { replace: ['3'] },
      '11,12 +2 -1; 3 +1 -2',
    ],
    ['is empty after a replacement without ids', { replace: [] }, {}, ' +0 -1; 1,2 +0 -0'],
    ['gets the added ids that it lacks', { add: ['12', '10'] }, {}, '10,12 +1 -0; 1,2 +0 -0'],
    ['loses the removed ids that it has', { remove: ['11'] }, { remove: ['1', '3'] }, '10 +0 -0; 2 +0 -1'],
    [
      'loses all ids, also those added by the same command',
      { add: ['11'], remove: 'all' },
      {},
      ' +0 -1; 1,2 +0 -0',
    ],
    [
      'is first replaced and then extended by the same command',
      { replace: ['11'], add: ['10'] },
      {},
      '10,11 +1 -0; 1,2 +0 -0',
    ],
    ['keeps its organizations if only the products change', {}, { replace: ['3'] }, '10 +0 -0; 3 +1 -2'],
  ])('%s', async (_, organizations, products, expected) => {
    const result = await changed(organizations, products)
    expect(`${summaryOf(result.organizations)}; ${summaryOf(result.products)}`).toBe(expected)
  })

  test('refuses ids that are not in the data with the list of all of them, and changes nothing', async () => {
    const { clientId } = await provision(services.sql, ['10'], ['1'])
    const refusals: [SetChange, SetChange, string][] = [
      [{ replace: ['10', '98', '99'] }, {}, 'there are no organizations with these ids: 98, 99'],
      [
        { add: ['9223372036854775807'] },
        {},
        'there are no organizations with these ids: 9223372036854775807',
      ],
      [{ add: ['11'] }, { add: ['98'] }, 'there are no products with these ids: 98'],
      [{ remove: ['10'] }, { replace: ['0'] }, 'there are no products with these ids: 0'],
    ]
    for (const [organizations, products, reason] of refusals) {
      await expect(changeScope(services.sql, clientId, organizations, products)).rejects.toThrow(reason)
    }
    await expect(provision(services.sql, ['10', '98'], ['1'])).rejects.toThrow(
      'no organizations with these ids: 98',
    )
    expect(await organizationsOf(clientId)).toEqual([10])
    expect(await productsOf(clientId)).toEqual([1])
  })

  test('accepts the removal of ids that are no longer in the data', async () => {
    await load(services.sql, [organization(15), organization(16)])
    const { clientId } = await provision(services.sql, ['10', '15', '16'], ['1'])
    await load(services.sql, [removal('organization', 15), removal('organization', 16)])
    await changeScope(services.sql, clientId, { remove: ['15'] }, { add: ['2'] })
    expect(await organizationsOf(clientId)).toEqual([10, 16])
    await changeScope(services.sql, clientId, { remove: ['99', '16'] }, {})
    expect(await organizationsOf(clientId)).toEqual([10])
  })

  test('keeps the changes of several concurrent operators', async () => {
    const { clientId } = await provision(services.sql, [], ['1'])
    const additions = ['10', '11', '12'].map((id, index) =>
      changeScope(index === 1 ? services.otherSql : services.sql, clientId, { add: [id] }, {}),
    )
    await Promise.all(additions)
    expect(await organizationsOf(clientId)).toEqual([10, 11, 12])
  })

  test('applies to the next request on every service, with a token from before the change', async () => {
    const integration = await provision(services.sql, ['10', '11'], ['1', '2'])
    const token = await newToken(services.baseUrls[0], integration)
    const answers = () => Promise.all(services.baseUrls.map(baseUrl => getList(baseUrl, token)))
    const expectIds = async (expected: number[]) =>
      expect((await answers()).map(ids)).toEqual([expected, expected])
    const change = (organizations: SetChange, products: SetChange = {}) =>
      changeScope(services.otherSql, integration.clientId, organizations, products)

    await expectIds([9001, 9002, 9003])
    await change({ remove: ['10'] })
    await expectIds([9002])
    await change({ replace: ['10'] }, { replace: ['2'] })
    await expectIds([9003])
    await change({}, { add: ['1'] })
    await expectIds([9001, 9003])
    await change({ replace: 'all' }, { replace: 'all' })
    await expectIds([9001, 9002, 9003])
  })
})
