import { describe, expect, test } from 'bun:test'
import { INHERITED, NO_UTF8 } from '../support/bad-values.ts'
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
import { contract, LIST } from './support/contract.ts'
import { rule } from './support/rule.ts'

/** Names in the expected order: lower-cased, then by code point. Names on one line differ only in case. */
const NAMES: string[][] = [
  ...['10 x', '9 x', 'a b', 'A_b', 'ab'].map(name => [name]),
  ['APPLE', 'apple'],
  ...['aZb', 'Banana', 'cherry', 'eclair', 'zebra', 'zoe', 'ZOÉ', '~tilde'].map(name => [name]),
  ...['ßeta', 'Éclair', 'Ωmega', 'Яна', 'Ａwide', '😀smile'].map(name => [name]),
]
const FLAT = NAMES.flat()
const COUNT = FLAT.length

/** The name of assessment k for each sort. The three orders are unrelated to each other and to the ids. */
const shuffled = {
  user_name: (k: number) => (k * 8) % COUNT,
  product_name: (k: number) => (k * 5 + 3) % COUNT,
  proctor_name: (k: number) => (k * 10 + 7) % COUNT,
} as const
type NameSort = keyof typeof shuffled

const each = Array.from({ length: COUNT }, (_, k) => k)
const rank = (name: string | undefined) => NAMES.findIndex(equal => equal.includes(name ?? ''))

/** The ids from 1, sorted by one kind of name and then by id. */
function expected(sort: NameSort): number[] {
  const rankOf = (k: number) => rank(FLAT[shuffled[sort](k)])
  return each.toSorted((a, b) => rankOf(a) - rankOf(b) || a - b).map(k => k + 1)
}

const [NAMED, DATED, PARTED, TIED] = [10, 20, 30, 40]

const setup = {
  lines: [
    ...world(),
    organization(DATED),
    organization(PARTED),
    organization(TIED),
    ...each.flatMap(k => [
      // First and last names are not sort keys, so they have another order.
      educator(2000 + k, { name: FLAT[k], first_name: `F${9 - (k % 10)}`, last_name: `L${k % 3}` }),
      product(1000 + k, FLAT[k]),
      proctor(3000 + k, FLAT[k]),
      assessment(k + 1, {
        user_id: 2000 + shuffled.user_name(k),
        product_id: 1000 + shuffled.product_name(k),
        proctor_id: 3000 + shuffled.proctor_name(k),
      }),
    ]),
    assessment(201, { organization_id: DATED, certified_at: '2026-01-03' }),
    assessment(203, { organization_id: DATED, certified_at: '2026-01-02T18:00:00Z' }),
    assessment(205, { organization_id: DATED, certified_at: '2026-01-02T08:00:00Z' }),
    assessment(209, { organization_id: DATED, certified_at: '2026-01-01' }),
    assessment(99, { organization_id: DATED, certified_at: '2025-12-31' }),
    proctor(81, 'Abe'),
    proctor(82, 'mia'),
    proctor(83, 'Zed'),
    // The first part is neither the earliest nor the one with the smallest id.
    ...[
      { id: 301, first: 83, second: 81 },
      { id: 302, first: 81, second: 83 },
    ].map(({ id, first, second }) => {
      const late = part(id * 10 + 2, { certified_at: '2026-01-02', proctor_id: first })
      const early = part(id * 10 + 1, { certified_at: '2026-01-01', proctor_id: second })
      return multiPart(id, [late, early], { organization_id: PARTED })
    }),
    assessment(303, { organization_id: PARTED, proctor_id: 82 }),
    ...[4010, 401, 4002].map(id => assessment(id, { organization_id: TIED })),
  ],
  integrations: {
    main: { organizations: [NAMED, DATED, PARTED, TIED], products: [1, ...each.map(k => 1000 + k)] },
  },
} as const

contract('The sort', setup, api => {
  const inOrganization = (id: number, query: string) => api.ids(`filter[organization_ids][]=${id}&${query}`)
  const byDate = [99, 209, 203, 205, 201]

  describe.each(['user_name', 'product_name', 'proctor_name'] as const)(rule('by %s', 'L3', 'L4'), sort => {
    test('compares lower-cased names by code point, then ids', async () => {
      expect(await inOrganization(NAMED, `sort=${sort}`)).toEqual(expected(sort))
      expect(await inOrganization(NAMED, `sort=${sort}&order=ASC`)).toEqual(expected(sort))
    })

    test('is exactly reversed by DESC, also for equal names', async () => {
      expect(await inOrganization(NAMED, `sort=${sort}&order=DESC`)).toEqual(expected(sort).reverse())
    })
  })

  test(rule('by certified_on compares days, then ids, at any time of day', 'L3'), async () => {
    expect(await inOrganization(DATED, 'sort=certified_on')).toEqual(byDate)
    expect(await inOrganization(DATED, 'sort=certified_on&order=DESC')).toEqual(byDate.toReversed())
  })

  test(rule('is by certified_on and ascending by default', 'L3', 'L4'), async () => {
    expect(await inOrganization(DATED, '')).toEqual(byDate)
    expect(await inOrganization(DATED, 'sort=&order=')).toEqual(byDate)
    expect(await inOrganization(DATED, 'order=DESC')).toEqual(byDate.toReversed())
  })

  test('by proctor_name compares the proctors of the first parts', async () => {
    expect(await inOrganization(PARTED, 'sort=proctor_name')).toEqual([302, 303, 301])
    expect(await inOrganization(PARTED, 'sort=proctor_name&order=DESC')).toEqual([301, 303, 302])
  })

  test.each(['certified_on', 'user_name', 'proctor_name', 'product_name', 'bogus'])(
    'by %s orders ties by id as a number, in the same direction',
    async sort => {
      expect(await inOrganization(TIED, `sort=${sort}`)).toEqual([401, 4002, 4010])
      expect(await inOrganization(TIED, `sort=${sort}&order=DESC`)).toEqual([4010, 4002, 401])
    },
  )

  test.each([
    ...['bogus', 'id', 'name', 'USER_NAME', 'user_name,id', '-user_name', 'user_name desc', "user_name' --"],
    ...[...INHERITED, 'user_name\0', 'x'.repeat(8000)],
  ])(rule('by %s, which is unknown, falls back to certified_on', 'L3', 'L9'), async sort => {
    const encoded = encodeURIComponent(sort)
    expect(await inOrganization(DATED, `sort=${encoded}`)).toEqual(byDate)
    expect(await inOrganization(DATED, `sort=${encoded}&order=DESC`)).toEqual(byDate.toReversed())
  })

  test.each(['DESC', 'desc', 'Desc', 'dEsC', '+desc+', '%E2%80%83DESC'])(
    rule('with order %s is descending', 'L4'),
    async order => {
      expect(await inOrganization(DATED, `order=${order}`)).toEqual(byDate.toReversed())
    },
  )

  test.each([
    ...['ASC', 'asc', 'Asc', 'descending', 'DESC,ASC', 'down', '-1', '1', 'constructor', "desc'"],
    ...['%20', '%01desc', 'desc%00', '%7F'],
  ])(rule('with order %s is ascending', 'L4', 'L9'), async order => {
    expect(await inOrganization(DATED, `order=${order}`)).toEqual(byDate)
  })

  describe.each(['sort', 'order'])(
    rule('falls back to the default, without an error, if %s has the form', 'L9'),
    name => {
      test.each([
        ...[...NO_UTF8.map(text => `=${text}`), '=%EF%BF%BD', '[%FF]=desc', '=desc&NAME=%FF'],
        ...['[x]=user_name', '[x][y]=desc', '[a][b][c][d]=1', '[__proto__]=desc', '[=desc', '', '=', '[]='],
        ...[`${'[]'.repeat(2000)}=desc`, '[]=user_name&NAME[x]=desc', '=user_name&NAME=bogus'],
      ])('%s', async shape => {
        const query = name + shape.replaceAll('NAME', name)
        expect(await inOrganization(DATED, query)).toEqual(byDate)
      })
    },
  )

  test.each([
    'order[]=desc',
    'order[][]=desc',
    'order[0]=asc&order[1]=desc',
    `${'order=asc&'.repeat(500)}order=desc`,
    'order=%FF&order=desc',
    'sort[]=certified_on&order=desc',
  ])('uses the last value of order in a list: %s', async query => {
    expect(await inOrganization(DATED, query)).toEqual(byDate.toReversed())
  })

  test.each(['sort%FF=1', 'order=desc&x=%FF', 'sort=%FF&filter[search]=%FF', '%FF=sort'])(
    'does not hide an error of another parameter: %s',
    async query => {
      expect((await api.tryList(query)).status).toBe(400)
    },
  )

  test('ignores a byte that is not UTF-8, and the Link to the next page keeps the byte', async () => {
    const head = [`GET ${LIST}?sort=\xff&page=1 HTTP/1.1`, `Authorization: ${api.bearer().authorization}`]
    const { status, headers } = await api.raw(head)
    expect(status).toBe(200)
    const [, next = ''] = /^<(.+)>; rel="next"$/.exec(headers.get('link') ?? '') ?? []
    expect(next).toBe('assessments?sort=%EF%BF%BD&page=1&offset=1')
    expect((await api.get(new URL(next, `http://x${LIST}`).href.slice('http://x'.length))).status).toBe(200)
  })
})
