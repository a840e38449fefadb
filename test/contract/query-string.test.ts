import { describe, expect, test } from 'bun:test'
import { INHERITED, words } from '../support/bad-values.ts'
import { assessment, educator, organization, proctor, product, world } from '../support/fixtures.ts'
import { contract, expectUnreadable } from './support/contract.ts'
import { rule } from './support/rule.ts'

const setup = {
  lines: [
    ...world(),
    organization(20),
    product(2, 'Math a+b=c;d&e Coaching'),
    proctor(78),
    educator(502, { seid: 'a,b', record_status: 'archived' }),
    educator(503, { seid: 'S C' }),
    assessment(1),
    assessment(2, { user_id: 502, organization_id: 20, proctor_id: 78, legacy_record: true }),
    assessment(3, { user_id: 503, product_id: 2 }),
  ],
  integrations: {
    main: { organizations: [10, 20], products: [1, 2] },
  },
} as const
const ALL = [1, 2, 3]

const ARRAYS: [name: string, value: string, ids: number[], other: string, both: number[]][] = [
  ['product_ids', '2', [3], '1', ALL],
  ['user_ids', '502', [2], '503', [2, 3]],
  ['seids', '1234567890', [1], 'S+C', [1, 3]],
  ['proctor_ids', '78', [2], '77', ALL],
  ['organization_ids', '20', [2], '10', ALL],
  ['user_record_status', 'archived', [2], 'active', ALL],
  ['legacy_record', 'true', [2], 'false', ALL],
]

contract('The query string', setup, api => {
  /** The expected result, and the query strings that have it. */
  type Rows<Expected> = [expected: Expected, ...queries: string[]][]
  const each = <Expected>(rows: Rows<Expected>) =>
    test.each(rows.flatMap(([expected, ...queries]) => queries.map(query => ({ query, expected }))))

  /** Query strings by the ids that they return. */
  const table = (rows: Rows<number[]>) =>
    each(rows)('$query returns $expected', async ({ query, expected }) => {
      expect(await api.ids(query)).toEqual(expected)
    })
  /** Query strings by the parameter that the 400 names. */
  const unreadable = (rows: Rows<string>) =>
    each(rows)('$query is 400 about $expected', async ({ query, expected }) => {
      expectUnreadable(await api.tryList(query), expected)
    })
  /** Query strings by their page size and offset. */
  const paged = (rows: Rows<[page: number, offset: number]>) =>
    each(rows)(
      '$query has the page size and the offset $expected',
      async ({ query, expected: [page, offset] }) => {
        expect((await api.list(query)).meta).toEqual({ count: 3, page, offset })
      },
    )

  describe.each(ARRAYS)(rule('accepts filter[%s]', 'F1'), (name, value, ids, other, both) => {
    const f = `filter[${name}]`
    test(rule('with only blank values as if omitted', 'F13'), async () => {
      for (const blank of [
        '[]=',
        '[]',
        '[]=%20',
        '[]=+%20+',
        `[]=&${f}[]=`,
        '[0]=',
        '=',
        '',
        '[x]=',
        '[][]=',
      ])
        expect([blank, await api.ids(f + blank)]).toEqual([blank, ALL])
      expect(await api.ids(`${f}[]=&${f}[]=${value}&${f}[]=+`)).toEqual(ids)
      expect(await api.ids(`${f}[x]=&${f}[]=${value}`)).toEqual(ids)
    })
    test('in every spelling of an array', async () => {
      for (const [query, expected] of [
        [`${f}[]=${value}`, ids],
        [`${f}[]=${value}&${f}[]=${other}`, both],
        [`${f}[]=${other}&page=9&${f}[]=${value}`, both],
        [`${f}[0]=${value}`, ids],
        [`${f}[0]=${value}&${f}[1]=${other}`, both],
        [`${f}[99]=${value}&${f}[7]=${other}`, both],
        [`${f}[999999999]=${value}`, ids],
        [`${f}=${value}`, ids],
        [`${f}=${value}&${f}=${other}`, both],
        [`filter%5B${name}%5D%5B%5D=${value}&filter%5b${name}%5d%5b%5d=${other}`, both],
        [`filter%5B${name}%5D%5B0%5D=${value}`, ids],
        [`filter%5B${name}]=${value}`, ids],
        [Array(400).fill(`${f}[]=${value}`).join('&'), ids],
      ] as const) {
        expect([query, await api.ids(query)]).toEqual([query, [...expected]])
      }
    })
    test('in no other shape', async () => {
      for (const shape of ['[x]', '[][]', '[0][0]', '[length]', '[-1]', '[', `[]=${value}&${f}[x]`])
        expectUnreadable(await api.tryList(`${f}${shape}=${value}`), f)
    })
  })

  test('accepts 1,000 values of an array, and refuses 1,001', async () => {
    // Only the shortest name leaves room for 1,001 values in 16 KiB.
    const many = (count: number) => `${'filter[seids]=x&'.repeat(count - 1)}filter[seids]=S+C`
    expect(await api.ids(many(1000))).toEqual([3])
    expectUnreadable(await api.tryList(many(1001)), 'filter[seids]')
  })

  describe.each([
    ['search', 'nothing'],
    ['start_date', '2027-01-01'],
    ['end_date', '2025-01-01'],
  ])('accepts the scalar filter[%s]:', (name, value) => {
    const f = `filter[${name}]`
    table([
      [ALL, ...['=', '', '=%20', '=+', '=%20+%20', '=%E2%80%83', '[x]='].map(blank => f + blank)],
      [[], `filter%5B${name}%5D=${value}`, `filter%5b${name}%5d=${value}`, `${f}[]=${value}`],
    ])
    unreadable([[f, `${f}[x]=${value}`]])
  })

  describe(rule('accepts a filter without a name only if it is blank:', 'F13'), () => {
    table([
      [ALL, 'filter', 'filter=', 'filter=+', 'filter[]=', 'filter[][]=%20'],
      [[3], 'filter=&filter[search]=math', 'filter[search]=math&filter[]='],
    ])
    unreadable([['filter', 'filter=1', 'filter[]=1', 'filter[][]=1', 'filter=1&filter[search]=math']])
  })

  describe(
    rule('refuses what looks like a filter and cannot be read, rather than to answer with more:', 'F17'),
    () => {
      table([
        [ALL, 'filter%255Bids%255D=', 'filter[search=+', 'page[=5', 'page%3D5', 'Filter=', 'filter.search=+'],
        // Names that can be read, and are not known.
        [ALL, 'filters[search]=x', 'filter_search=x', 'filter_by=x', 'filter-by=x', 'filter2=x', 'filterä=x'],
        [ALL, 'filter[2fa]=x', 'filter[start-date]=x', 'filter[größe]=x', 'my.filter[search]=x'],
      ])
      unreadable([
        ['filter', 'filter%255Bids%255D=1', 'filter%25255bids%25255d%25255b%25255d=1'],
        ['filter', 'filter%255Bsearch]=x', 'filter[user_ids[]]=101', 'filter[user_ids[0]]=101'],
        ['filter', 'fi%256cter[search]=x', 'filter[%2573earch]=x', 'filter%25%2535Bsearch]=x'],
        ['filter', 'filter[search=x', 'filter[=1', 'filter%5Bsearch=x', 'filter[search]=math&filter[ids=1'],
        ['filter', 'Filter[search]=x', 'FILTER[seids][]=x', 'Filter=x', 'Filter.search=x'],
        ['filter', 'filter.start_date=2026-01-01', 'filter:search=x', 'filter(search)=x', 'filter search=x'],
        ['filter', 'filter\\[start_date\\]=2026-01-01', 'filter[start_date\\]=2026-01-01', 'filter]=x'],
        ['filter', 'filter["search"]=x', 'filter[+search]=x'],
        ['filter', 'filter%5Buser_ids%5D%5B%5D%3D101', 'filter%5Bsearch%5D%3Dx%26page%3D2', 'filter%3Dx'],
        ['filter', 'filter%255Bsearch%255D%253Dx', 'filter[0]=1', 'filter[-1]=1', 'filter[0][search]=x'],
      ])
    },
  )

  test('decodes the name of a filter as often as it was encoded', async () => {
    const encoded = [`${'%25'.repeat(3000)}${'3'.repeat(2999)}5B`, `%${'25'.repeat(5000)}5B`]
    for (const bracket of encoded) expectUnreadable(await api.tryList(`filter${bracket}search]=x`), 'filter')
  })

  describe(
    rule('may repeat a scalar, and the last value that is not blank counts:', 'L1', 'L3', 'L4'),
    () => {
      paged([
        [[2, 0], 'page=7&page=2', 'page[]=7&page[]=2'],
        [[7, 0], 'page=7&page=', 'page=7&page=+&page', 'page=&page=7', 'page=abc&page=7'],
        [[50, 1], 'offset=7&offset=1', 'offset=1&offset='],
      ])
      table([
        [[3], 'filter[search]=nothing&filter[search]=math', 'filter[search]=math&filter[search]='],
        [[], 'filter[search]=math&filter[search]=nothing'],
        [[], 'filter[start_date]=2027-01-01&filter[start_date]=+'],
        [[], 'filter[end_date]=2026-12-31&filter[end_date]=2026-01-01'],
        [[], 'filter[end_date]=2026-01-01&filter[end_date]'],
        [ALL, 'filter[start_date]=2027-01-01&filter[start_date]=2026-01-01'],
        [[3, 2, 1], 'order=ASC&order=DESC', 'order=DESC&order='],
        [[2, 1, 3], 'sort=certified_on&sort=product_name&order=DESC'],
        [[2, 1, 3], 'sort=product_name&sort=%20&order=DESC'],
      ])
      unreadable([['page', 'page=7&page=abc']])
    },
  )

  describe('is read', () => {
    describe('with a plus as a space, and %2B as a plus:', () => {
      table([
        [[1], 'filter[search]=Ana+Ruiz', 'filter[search]=Ana%20Ruiz'],
        [[], 'filter[search]=Ana%2BRuiz'],
        [[3], 'filter[search]=a%2Bb'],
      ])
    })

    describe('split at & only, and at the first = of a pair:', () => {
      table([
        [[3], 'filter[search]=c;d', 'filter[search]=b=c;d%26e', '&&filter[search]=math&&page=9&'],
        [[], 'filter[search]=math;page=abc'],
      ])
    })

    describe('without white space around numbers, ids, seids, days, booleans and statuses:', () => {
      paged([
        [[2, 1], 'page=+2+&offset=%20%201%20', 'page=%C2%A02&offset=1%E2%80%83'],
        [[2, 1], 'page=%EF%BB%BF2&offset=+1', 'page=%2B2&offset=%2B1', 'page=002&offset=01'],
        [[2, 0], 'page=2&offset=-0'],
      ])
      table([
        [[3], 'filter[product_ids][]=+2+', 'filter[search]=+math+'],
        [[2], 'filter[user_ids][]=%C2%A0502', 'filter[user_ids][]=%2B502', 'filter[user_ids][]=00502'],
        [[2], 'filter[proctor_ids][]=78%E2%80%83'],
        [[2], 'filter[organization_ids][]=%2020%20&filter[organization_ids][]=+'],
        [[2], 'filter[user_record_status][]=+archived+', 'filter[legacy_record][]=%20TRUE+'],
        [[], 'filter[start_date]=+2027-01-01'],
        [[3], 'filter[seids][]=+S+C%20'],
        [ALL, 'filter[end_date]=2026-12-31+'],
        [[1, 3], 'filter[legacy_record][]=+0'],
        [[2, 1, 3], 'sort=+product_name+&order=%20desc%20'],
      ])
      unreadable([
        ['page', 'page=%0A2'],
        ['filter[user_ids]', 'filter[user_ids][]=502%09', 'filter[user_ids][]=5+02'],
      ])
    })

    describe('without splitting values at commas:', () => {
      table([
        [[2], 'filter[seids][]=a,b'],
        [[], 'filter[seids][]=1234567890,S+C'],
      ])
      unreadable([
        ['filter[user_ids]', 'filter[user_ids][]=501,502'],
        ['filter[user_record_status]', 'filter[user_record_status]=active,archived'],
        ['filter[legacy_record]', 'filter[legacy_record]=true,false'],
      ])
    })

    test('without unknown parameters', async () => {
      const bare = (await api.tryList()).text
      const unknown = [
        'limit=1 per_page=1&fields=id q=nothing search=nothing seids[]=nobody filter[name]=nothing',
        'filter[Search]=nothing filters[search]=nothing filter[seid]=nobody',
        'filter[a][b][c]=1 filter] filter[ filter[search a[b][c][d][e][f][g]=1',
        `page_size=1&limit=abc PAGE=1 []=1 [ = =1 ? filter${'[a]'.repeat(2000)}=1`,
        ...INHERITED.flatMap(name => [`${name}=1`, `filter[${name}]=1`]),
        '__proto__[page]=1 __proto__[filter][search]=nothing filter[__proto__][search]=nothing',
        'constructor[prototype][page]=1 filter[constructor][prototype][search]=nothing',
        'filter%5B__proto__%5D%5Bseids%5D%5B%5D=nobody',
      ]
      for (const query of unknown.flatMap(words)) {
        const { status, text } = await api.tryList(query)
        expect([query, status, text]).toEqual([query, 200, bare])
      }
    })

    describe('with unbalanced or repeated brackets as follows:', () => {
      table([[[3], 'filter[search]]=math', 'filter[seids]x=S+C']])
      unreadable([
        ['filter', 'filter[[search]]=math'],
        ['filter[search]', 'filter[search]=1&filter[search][x]=2'],
        ['filter[seids]', 'filter[seids]=1&filter[seids][x]=2', 'filter[seids][__proto__]=1'],
        ['filter[seids]', `filter[seids]${'[]'.repeat(2000)}=1`],
        ['page', 'page[x]=1', 'page=0&filter[end_date]'],
        ['offset', 'offset[x]=1'],
      ])
    })
  })
})
