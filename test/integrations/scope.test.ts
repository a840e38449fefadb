import { describe, expect, test } from 'bun:test'
import { reportIntegration } from '../../src/integrations/report.ts'
import { addNew, type ChangedScope, changeScope, type SetChange } from '../../src/integrations/scope.ts'
import { organization, product, removal } from '../support/fixtures.ts'
import { getList, ids, newToken, provision, useTwoServices } from '../support/operator.ts'
import { BACKENDS_OF_TIER, load } from '../support/service.ts'

describe.each(BACKENDS_OF_TIER)('the scope of an integration, on %s', backend => {
  const services = useTwoServices(backend)

  const organizationsOf = async (clientId: string) =>
    (await reportIntegration(services.sql, clientId)).organizations.map(({ id }) => id)
  const productsOf = async (clientId: string) =>
    (await reportIntegration(services.sql, clientId)).products.map(({ id }) => id)

  /** Changes one set of a new integration that has organization 10 and products 1 and 2. */
  async function changed(organizations: SetChange, products: SetChange = {}): Promise<ChangedScope> {
    const { clientId } = await provision(services.sql, ['10'], ['1', '2'])
    const result = await changeScope(services.sql, clientId, organizations, products)
    expect(await organizationsOf(clientId)).toEqual(result.organizations.ids.map(Number))
    expect(await productsOf(clientId)).toEqual(result.products.ids.map(Number))
    return result
  }

  test('is made of the ids that are given when it is created, each once', async () => {
    const { clientId } = await provision(services.sql, ['12', '10', '10'], ['2'])
    expect(await organizationsOf(clientId)).toEqual([10, 12])
    expect(await productsOf(clientId)).toEqual([2])
  })

  test('with all holds everything that exists at that moment, and later data after --add-new', async () => {
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
    ['stays meant as all beside what is added', { add: ['10'] }, true],
    ['stays meant as all when nothing is removed', { remove: [] }, true],
    ['stays meant as all when only products change', {}, true],
    ['is a list from the moment when a list replaces it', { replace: ['10', '11', '12'] }, false],
    ['is a list from the moment when something is removed', { replace: 'all', remove: ['12'] }, false],
    ['is a list from the moment when all is removed', { remove: 'all' }, false],
  ])('%s', async (_, organizations, isMeant) => {
    const { clientId } = await provision(services.sql, 'all', ['1'])
    const changed = await changeScope(services.sql, clientId, organizations, { replace: ['2'] })
    expect([changed.organizations.meantAsAll, changed.products.meantAsAll]).toEqual([isMeant, false])
    const { meant_as_all } = await reportIntegration(services.sql, clientId)
    expect(meant_as_all).toEqual(isMeant ? ['organizations'] : [])
    // Nothing is taken in where nothing was meant as all: of products, and of what is a list now.
    if (isMeant) expect((await addNew(services.sql, clientId)).products.ids).toEqual(['2'])
    else await expect(addNew(services.sql, clientId)).rejects.toThrow(`neither set of ${clientId} was meant`)
  })

  const told = ({ ids, added, removed }: ChangedScope['products']) => `${ids} +${added} -${removed}`
  test.each<[string, SetChange, SetChange, string]>([
    [
      'is replaced: what is not named is gone',
      { replace: ['12', '11'] },
      { replace: ['3'] },
      '11,12 +2 -1; 3 +1 -2',
    ],
    ['is emptied by a replacement without ids', { replace: [] }, {}, ' +0 -1; 1,2 +0 -0'],
    ['grows by what is added and not there yet', { add: ['12', '10'] }, {}, '10,12 +1 -0; 1,2 +0 -0'],
    ['shrinks by what is removed and there', { remove: ['11'] }, { remove: ['1', '3'] }, '10 +0 -0; 2 +0 -1'],
    ['is added to before all is removed', { add: ['11'], remove: 'all' }, {}, ' +0 -1; 1,2 +0 -0'],
    ['is replaced before it is added to', { replace: ['11'], add: ['10'] }, {}, '10,11 +1 -0; 1,2 +0 -0'],
    ['of organizations stays when that of products changes', {}, { replace: ['3'] }, '10 +0 -0; 3 +1 -2'],
  ])('%s', async (_, organizations, products, expected) => {
    const result = await changed(organizations, products)
    expect(`${told(result.organizations)}; ${told(result.products)}`).toBe(expected)
  })

  test('refuses ids that are not in the data, names all of them and changes nothing', async () => {
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

  test('can lose ids that are no longer in the data', async () => {
    await load(services.sql, [organization(15), organization(16)])
    const { clientId } = await provision(services.sql, ['10', '15', '16'], ['1'])
    await load(services.sql, [removal('organization', 15), removal('organization', 16)])
    await changeScope(services.sql, clientId, { remove: ['15'] }, { add: ['2'] })
    expect(await organizationsOf(clientId)).toEqual([10, 16])
    await changeScope(services.sql, clientId, { remove: ['99', '16'] }, {})
    expect(await organizationsOf(clientId)).toEqual([10])
  })

  test('loses nothing when two operators change it at once', async () => {
    const { clientId } = await provision(services.sql, [], ['1'])
    const additions = ['10', '11', '12'].map((id, index) =>
      changeScope(index === 1 ? services.otherSql : services.sql, clientId, { add: [id] }, {}),
    )
    await Promise.all(additions)
    expect(await organizationsOf(clientId)).toEqual([10, 11, 12])
  })

  test('applies to the next request of every service, with a token that was issued before', async () => {
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
