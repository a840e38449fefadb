import { describe, expect, test } from 'bun:test'
import { contract, expectUnreadable } from './support/contract.ts'
import { assessment, educator, organization, proctor, product, world } from './support/lines.ts'

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
    main: [
      [10, 20],
      [1, 2],
    ],
  },
} as const

const ARRAYS: [name: string, value: string, ids: number[], other: string, both: number[]][] = [
  ['product_ids', '2', [3], '1', [1, 2, 3]],
  ['user_ids', '502', [2], '503', [2, 3]],
  ['seids', '1234567890', [1], 'S C', [1, 3]],
  ['proctor_ids', '78', [2], '77', [1, 2, 3]],
  ['organization_ids', '20', [2], '10', [1, 2, 3]],
  ['user_record_status', 'archived', [2], 'active', [1, 2, 3]],
  ['legacy_record', 'true', [2], 'false', [1, 2, 3]],
]
const SCALARS = ['search', 'start_date', 'end_date']

contract('The query string', setup, api => {
  /** Nobody's parameters: the answer is that of the bare list. */
  const expectIgnored = async (query: string) => {
    const { status, text } = await api.tryList(query)
    expect([query, status, text]).toEqual([query, 200, (await api.tryList()).text])
  }
  describe.each(ARRAYS)('takes filter[%s]', (name, value, ids, other, both) => {
    const first = encodeURIComponent(value)
    const second = encodeURIComponent(other)

    test('as repeated bracketed keys', async () => {
      expect(await api.ids(`filter[${name}][]=${first}`)).toEqual(ids)
      expect(await api.ids(`filter[${name}][]=${first}&filter[${name}][]=${second}`)).toEqual(both)
      expect(await api.ids(`filter[${name}][]=${second}&page=9&filter[${name}][]=${first}`)).toEqual(both)
    })

    test('as numbered keys', async () => {
      expect(await api.ids(`filter[${name}][0]=${first}`)).toEqual(ids)
      expect(await api.ids(`filter[${name}][0]=${first}&filter[${name}][1]=${second}`)).toEqual(both)
      expect(await api.ids(`filter[${name}][99]=${first}&filter[${name}][7]=${second}`)).toEqual(both)
      expect(await api.ids(`filter[${name}][999999999]=${first}`)).toEqual(ids)
    })

    test('as a plain key', async () => {
      expect(await api.ids(`filter[${name}]=${first}`)).toEqual(ids)
    })

    test('with percent-encoded brackets', async () => {
      expect(await api.ids(`filter%5B${name}%5D%5B%5D=${first}&filter%5b${name}%5d%5b%5d=${second}`)).toEqual(
        both,
      )
      expect(await api.ids(`filter%5B${name}%5D%5B0%5D=${first}`)).toEqual(ids)
      expect(await api.ids(`filter%5B${name}]=${first}`)).toEqual(ids)
    })

    test('with a blank value as if it were left out', async () => {
      for (const blank of [
        `filter[${name}][]=`,
        `filter[${name}][]`,
        `filter[${name}][]=%20`,
        `filter[${name}][]=+%20+`,
        `filter[${name}][]=&filter[${name}][]=`,
        `filter[${name}][0]=`,
        `filter[${name}]=`,
        `filter[${name}]`,
      ]) {
        await expectIgnored(blank)
      }
      expect(await api.ids(`filter[${name}][]=&filter[${name}][]=${first}&filter[${name}][]=+`)).toEqual(ids)
    })

    test('as a map with 400', async () => {
      expectUnreadable(await api.tryList(`filter[${name}][x]=${first}`), `filter[${name}]`)
    })

    test('with brackets after brackets with 400', async () => {
      expectUnreadable(await api.tryList(`filter[${name}][][]=${first}`), `filter[${name}]`)
      expectUnreadable(await api.tryList(`filter[${name}][0][0]=${first}`), `filter[${name}]`)
    })

    test('up to 1,000 values, and says so of more', async () => {
      // Only the shortest of the names leaves room for so many in 16 KiB.
      if (name !== 'seids') {
        const hundreds = Array(400).fill(`filter[${name}][]=${first}`).join('&')
        expect(await api.ids(hundreds)).toEqual(ids)
        return
      }
      const many = (count: number) =>
        [...Array(count - 1).fill('filter[seids]=x'), 'filter[seids]=S+C'].join('&')
      expect(await api.ids(many(1000))).toEqual([3])
      expectUnreadable(await api.tryList(many(1001)), 'filter[seids]')
    })
  })

  describe.each(SCALARS)('takes filter[%s]', name => {
    test('with a blank value as if it were left out', async () => {
      for (const value of ['=', '', '=%20', '=+', '=%20+%20', '=%E2%80%83'])
        await expectIgnored(`filter[${name}]${value}`)
    })

    test('as a map with 400', async () => {
      expectUnreadable(await api.tryList(`filter[${name}][x]=2026-01-01`), `filter[${name}]`)
    })

    test('with percent-encoded brackets', async () => {
      const value = name === 'start_date' ? '2027-01-01' : name === 'end_date' ? '2025-01-01' : 'nothing'
      expect(await api.ids(`filter%5B${name}%5D=${value}`)).toEqual([])
      expect(await api.ids(`filter%5b${name}%5d=${value}`)).toEqual([])
    })
  })

  describe('repeats', () => {
    test('a scalar, and the last one wins', async () => {
      expect((await api.list('page=7&page=2')).meta.page).toBe(2)
      expect((await api.list('offset=7&offset=1')).meta.offset).toBe(1)
      expect(await api.ids('filter[search]=nothing&filter[search]=math')).toEqual([3])
      expect(await api.ids('filter[search]=math&filter[search]=nothing')).toEqual([])
      expect(await api.ids('filter[start_date]=2027-01-01&filter[start_date]=2026-01-01')).toEqual([1, 2, 3])
      expect(await api.ids('filter[end_date]=2026-12-31&filter[end_date]=2026-01-01')).toEqual([])
      expect(await api.ids('order=ASC&order=DESC')).toEqual([3, 2, 1])
      expect(await api.ids('sort=certified_on&sort=product_name&order=DESC')).toEqual([2, 1, 3])
    })
  })

  describe('is read', () => {
    test('with a plus as a space, %2B as a plus', async () => {
      expect(await api.ids('filter[search]=Ana+Ruiz')).toEqual([1])
      expect(await api.ids('filter[search]=Ana%20Ruiz')).toEqual([1])
      expect(await api.ids('filter[search]=Ana%2BRuiz')).toEqual([])
      expect(await api.ids('filter[search]=a%2Bb')).toEqual([3])
      expect(await api.ids('filter[seids][]=S+C')).toEqual([3])
    })

    test('split on & only, and at the first = of a pair', async () => {
      expect(await api.ids('filter[search]=c;d')).toEqual([3])
      expect(await api.ids('filter[search]=b=c;d%26e')).toEqual([3])
      expect(await api.ids('filter[search]=math;page=abc')).toEqual([])
      expect(await api.ids('&&filter[search]=math&&page=9&')).toEqual([3])
    })

    test('without lists by comma', async () => {
      expect(await api.ids('filter[seids][]=a,b')).toEqual([2])
      expect(await api.ids('filter[seids][]=1234567890,S+C')).toEqual([])
      for (const name of ['product_ids', 'user_ids', 'proctor_ids', 'organization_ids']) {
        expectUnreadable(await api.tryList(`filter[${name}][]=1,2`), `filter[${name}]`)
      }
      expectUnreadable(
        await api.tryList('filter[user_record_status]=active,archived'),
        'filter[user_record_status]',
      )
      expectUnreadable(await api.tryList('filter[legacy_record]=true,false'), 'filter[legacy_record]')
    })

    test('without unknown parameters and unknown filters', async () => {
      for (const query of [
        'limit=1',
        'per_page=1&fields=id',
        'q=nothing',
        'search=nothing',
        'seids[]=nobody',
        'filter[name]=nothing',
        'filter[Search]=nothing',
        'Filter[search]=nothing',
        'filters[search]=nothing',
        'filter[seid]=nobody',
        'filter[a][b][c]=1',
        'a[b][c][d][e][f][g]=1',
        'page_size=1&limit=abc',
        'PAGE=1',
      ]) {
        await expectIgnored(query)
      }
    })

    test('without harm from names that objects inherit', async () => {
      for (const query of [
        '__proto__=1',
        'constructor=1',
        'hasOwnProperty=1',
        'toString=1&valueOf=1',
        '__proto__[page]=1',
        '__proto__[filter][search]=nothing',
        'constructor[prototype][page]=1',
        'filter[__proto__]=1',
        'filter[__proto__][search]=nothing',
        'filter[constructor]=1',
        'filter[constructor][prototype][search]=nothing',
        'filter[hasOwnProperty]=1',
        'filter%5B__proto__%5D%5Bseids%5D%5B%5D=nobody',
      ]) {
        await expectIgnored(query)
      }
    })

    test('never with an internal error, however odd its brackets', async () => {
      for (const query of [
        'filter[',
        'filter]',
        'filter[]=1',
        'filter[][]=1',
        'filter[search',
        'filter[search]]=x',
        'filter[[search]]=x',
        'filter[search][]=x',
        'filter.search=x',
        'filter[seids]x=1',
        'filter[seids][=1',
        'filter[seids][__proto__]=1',
        'filter[seids][length]=1',
        'filter[seids][-1]=1',
        'filter[seids][]=1&filter[seids][x]=2',
        'filter[seids]=1&filter[seids][x]=2',
        'filter[search]=1&filter[search][x]=2',
        'filter=1&filter[search]=x',
        'page[]=1',
        'sort[x]=1',
        'sort=%00&order=%00',
        '[]=1',
        '[',
        '=',
        '=1',
        '?',
        '%',
        '%=%',
        'a=%zz',
        'filter[search]=100%',
        'page=+5',
        'page=007',
        'page=%2B5',
        'offset=-0',
        'filter[user_ids][]=+501+',
        'filter[user_ids][]=%2B501',
        'filter[start_date]=+2026-01-01',
        'filter[end_date]=0000-01-01',
        `filter${'[a]'.repeat(2000)}=1`,
        `filter[seids]${'[]'.repeat(2000)}=1`,
      ]) {
        const { status, body } = await api.tryList(query)
        expect([query, status === 200 || status === 400]).toEqual([query, true])
        expect(Object.keys(body as object)).toEqual(status === 200 ? ['data', 'meta'] : ['errors'])
      }
    })

    test('as 400 where filter or a top-level parameter has the wrong shape', async () => {
      expectUnreadable(await api.tryList('filter=1'), 'filter')
      expectUnreadable(await api.tryList('page[x]=1'), 'page')
      expectUnreadable(await api.tryList('offset[x]=1'), 'offset')
    })
  })
})
