import { describe, expect, test } from 'bun:test'
import { NO_IDS } from '../support/bad-values.ts'
import {
  assessment,
  educator,
  multiPart,
  organization,
  part,
  proctor,
  product,
  world,
} from '../support/fixtures.ts'
import { contract } from './support/contract.ts'
import { rule } from './support/rule.ts'

/** Days in the order of the ids, so that the default order is the order of ids. */
const day = (n: number) => ({ certified_at: `2026-01-0${n}T12:00:00Z` })

const setup = {
  lines: [
    ...world(),
    organization(20),
    organization(30, 'Outside'),
    organization(40, 'Without assessments'),
    product(2, 'Math Coaching'),
    product(3, 'Outside'),
    educator(502, { seid: null }),
    educator(503, { seid: '00123', record_status: 'archived' }),
    educator(504, { seid: '123' }),
    proctor(78),
    proctor(79),
    assessment(1, { ...day(1) }),
    assessment(2, { ...day(2), user_id: 502, organization_id: 20, proctor_id: 78 }),
    assessment(3, { ...day(3), user_id: 503, product_id: 2, legacy_record: true }),
    multiPart(
      4,
      [part(401, { proctor_id: 79 }), part(402, { proctor_id: 78 }), part(403, { proctor_id: 78 })],
      { ...day(4), organization_id: 20, product_id: 2, legacy_record: true },
    ),
    assessment(5, { ...day(5), user_id: 504 }),
    assessment(6, { ...day(6), organization_id: 30, user_id: 504, proctor_id: 79 }),
    assessment(7, { ...day(7), product_id: 3, user_id: 503 }),
  ],
  integrations: {
    main: { organizations: [10, 20, 40], products: [1, 2] },
    all: { organizations: [10, 20, 30, 40], products: [1, 2, 3] },
    one: { organizations: [30], products: [1] },
    idle: { organizations: [40], products: [1, 2, 3] },
  },
} as const

/** The ids in the scope of the integration `main`. */
const ALL = [1, 2, 3, 4, 5]

contract('The list', setup, api => {
  describe('without filters', () => {
    test(
      rule('has the records whose organization and product are in the scope of the integration', 'S2'),
      async () => {
        expect(await api.ids()).toEqual([1, 2, 3, 4, 5])
        expect(await api.ids('', 'all')).toEqual([1, 2, 3, 4, 5, 6, 7])
        expect(await api.ids('', 'one')).toEqual([6])
        expect(await api.ids('', 'idle')).toEqual([])
      },
    )
  })

  describe('filtered', () => {
    const facts: [fact: string, query: string, ids: number[]][] = [
      [rule('by product_ids has the assessments of these products', 'F5'), 'filter[product_ids][]=2', [3, 4]],
      [
        'by several product_ids has the assessments of any of them',
        'filter[product_ids][]=2&filter[product_ids][]=1',
        ALL,
      ],
      [rule('by user_ids has the assessments of these educators', 'F6'), 'filter[user_ids][]=503', [3]],
      [
        'by several user_ids has the assessments of any of them',
        'filter[user_ids][]=503&filter[user_ids][]=502',
        [2, 3],
      ],
      ['by user_ids does not match proctors', 'filter[user_ids][]=78', []],
      [rule('by seids has the assessments of these educators', 'F7'), 'filter[seids][]=1234567890', [1, 4]],
      [
        'by several seids has the assessments of any of them',
        'filter[seids][]=123&filter[seids][]=1234567890',
        [1, 4, 5],
      ],
      ['by seids compares texts, including leading zeros', 'filter[seids][]=00123', [3]],
      ['by seids compares whole seids', 'filter[seids][]=12345&filter[seids][]=23&filter[seids][]=%25', []],
      ['by seids ignores the blanks around a value', 'filter[seids][]=%20123%C2%A0&filter[seids][]=+', [5]],
      ['by an unknown seid is empty', 'filter[seids][]=nobody', []],
      [
        rule('by seids never matches an educator without a seid', 'F16'),
        'filter[seids][]=null&filter[user_ids][]=502',
        [],
      ],
      [
        'by a known and an unknown seid has the records of the known one',
        'filter[seids][]=nobody&filter[seids][]=123',
        [5],
      ],
      [
        rule('by proctor_ids has the assessments of these proctors', 'F8'),
        'filter[proctor_ids][]=77',
        [1, 3, 5],
      ],
      ['by proctor_ids matches the proctor of a first part', 'filter[proctor_ids][]=79', [4]],
      [
        rule('by proctor_ids matches the proctor of any other part', 'F8'),
        'filter[proctor_ids][]=78',
        [2, 4],
      ],
      [
        'by proctor_ids of two of its parts has a record once',
        'filter[proctor_ids][]=78&filter[proctor_ids][]=79',
        [2, 4],
      ],
      ['by proctor_ids does not match educators', 'filter[proctor_ids][]=501', []],
      [
        rule('by organization_ids has the assessments of these organizations', 'F9'),
        'filter[organization_ids][]=20',
        [2, 4],
      ],
      [
        'by several organization_ids has the assessments of any of them',
        'filter[organization_ids][]=20&filter[organization_ids][]=10',
        ALL,
      ],
      ['by an organization without assessments is empty', 'filter[organization_ids][]=40', []],
      [
        rule('by the status active has the records of active educators', 'F10'),
        'filter[user_record_status][]=active',
        [1, 2, 4, 5],
      ],
      [
        rule('by the status archived has the records of archived educators', 'F10'),
        'filter[user_record_status][]=archived',
        [3],
      ],
      [
        'by both statuses has all records',
        'filter[user_record_status][]=archived&filter[user_record_status][]=active',
        ALL,
      ],
      [rule('by legacy_record true has migrated records', 'F11'), 'filter[legacy_record][]=true', [3, 4]],
      [rule('by legacy_record false has native records', 'F11'), 'filter[legacy_record][]=false', [1, 2, 5]],
      ['by legacy_record accepts true in any case', 'filter[legacy_record][]=TRUE', [3, 4]],
      ['by legacy_record accepts 1 as true', 'filter[legacy_record][]=1', [3, 4]],
      ['by legacy_record accepts 0 as false', 'filter[legacy_record][]=0', [1, 2, 5]],
      ['by one value twice has each record once', 'filter[seids][]=123&filter[seids][]=123', [5]],
      [
        'by both values of legacy_record has all records',
        'filter[legacy_record][]=true&filter[legacy_record][]=false',
        ALL,
      ],
    ]
    test.each(facts)('%s', async (_, query, ids) => {
      expect(await api.ids(query)).toEqual(ids)
    })

    test('by ids that no row has is empty, for numbers of any size', async () => {
      for (const name of ['product_ids', 'user_ids', 'proctor_ids', 'organization_ids'])
        for (const value of NO_IDS)
          expect([name, value, await api.ids([[`filter[${name}][]`, value]])]).toEqual([name, value, []])
      const many = `filter[product_ids][]=${'9'.repeat(100)}`
      expect(await api.ids(`${many}&filter[product_ids][]=2`)).toEqual([3, 4])
    })

    test(rule('combines all filters with AND', 'F12'), async () => {
      const filters = [
        ['[search]=coach', '[search]=reading'],
        ['[start_date]=2026-01-04', '[start_date]=2026-01-05'],
        ['[end_date]=2026-01-04', '[end_date]=2026-01-03'],
        ['[product_ids][]=2', '[product_ids][]=1'],
        ['[user_ids][]=501', '[user_ids][]=502'],
        ['[seids][]=1234567890', '[seids][]=123'],
        ['[proctor_ids][]=78', '[proctor_ids][]=77'],
        ['[organization_ids][]=20', '[organization_ids][]=10'],
        ['[user_record_status][]=active', '[user_record_status][]=archived'],
        ['[legacy_record][]=true', '[legacy_record][]=false'],
      ]
      const matching = filters.map(([match]) => `filter${match}`)
      expect(await api.ids(matching.join('&'))).toEqual([4])
      for (const [index, [, miss]] of filters.entries())
        expect([miss, await api.ids(matching.with(index, `filter${miss}`).join('&'))]).toEqual([miss, []])
    })
  })

  describe('never exceeds the scope', () => {
    test(rule('for an organization outside the scope: no records and no error', 'F15', 'L8'), async () => {
      const { status, text } = await api.tryList('filter[organization_ids][]=30')
      expect(status).toBe(200)
      expect(text).toBe('{"data":[],"meta":{"count":0,"offset":0,"page":50}}')
    })

    test(rule('for organizations inside and outside the scope: only those inside', 'S2', 'F15'), async () => {
      const query =
        'filter[organization_ids][]=30&filter[organization_ids][]=20&filter[organization_ids][]=999'
      expect(await api.ids(query)).toEqual([2, 4])
      expect(await api.ids(query, 'all')).toEqual([2, 4, 6])
      expect(await api.ids(query, 'one')).toEqual([6])
    })

    test.each([
      ['filter[product_ids][]=3&filter[product_ids][]=2', [3, 4], [3, 4, 7]],
      ['filter[user_ids][]=504', [5], [5, 6]],
      ['filter[seids][]=123', [5], [5, 6]],
      ['filter[proctor_ids][]=79', [4], [4, 6]],
      ['filter[search]=Outside', [], [7]],
      ['filter[start_date]=2026-01-05', [5], [5, 6, 7]],
    ])('for %s', async (query, inside, everything) => {
      expect(await api.ids(query)).toEqual(inside)
      expect(await api.ids(query, 'all')).toEqual(everything)
    })

    test(
      rule(
        'for seids: the answer is the same for a seid without matches, outside the scope and never recorded',
        'F16',
      ),
      async () => {
        const texts = []
        for (const query of ['nobody', '123&filter[organization_ids][]=20', 'null&filter[user_ids][]=502']) {
          texts.push((await api.tryList(`filter[seids][]=${query}`)).text)
        }
        expect(new Set(texts)).toEqual(new Set(['{"data":[],"meta":{"count":0,"offset":0,"page":50}}']))
      },
    )
  })
})
