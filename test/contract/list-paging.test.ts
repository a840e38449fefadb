import { describe, expect, test } from 'bun:test'
import { assessment, educator, organization, proctor, product, world } from '../support/fixtures.ts'
import { contract, expectUnreadable, LIST, type ListBody } from './support/contract.ts'
import { rule } from './support/rule.ts'

const COUNT = 130
const numbers = Array.from({ length: COUNT }, (_, k) => k + 1)

const setup = {
  lines: [
    ...world(),
    organization(20),
    organization(30),
    product(2),
    proctor(78),
    educator(502, { record_status: 'archived' }),
    // Few distinct values of every sort key, so that page boundaries fall inside ties.
    ...numbers.map(id =>
      assessment(id, {
        certified_at: `2026-01-0${1 + (id % 3)}`,
        user_id: 501 + (id % 2),
        organization_id: id % 5 === 0 ? 20 : 10,
        product_id: 1 + (id % 2),
        proctor_id: 77 + (id % 2),
      }),
    ),
    assessment(1000, { organization_id: 30 }),
  ],
  integrations: {
    main: { organizations: [10, 20], products: [1, 2] },
  },
} as const

contract('Paging', setup, api => {
  /** Walks as clients do: offset grows by the page size until it reaches meta.count. */
  const walk = async (query: string, page: number) => {
    const ids: number[] = []
    for (let [offset, count] = [0, 1]; offset < count; offset += page) {
      const { data, meta } = await api.list(`${query}&page=${page}&offset=${offset}`)
      count = meta.count
      expect(meta).toEqual({ count, offset, page })
      expect(data).toHaveLength(Math.max(0, Math.min(page, count - offset)))
      ids.push(...data.map(record => record.id))
    }
    return ids
  }

  describe('the page size', () => {
    test(rule('is 50 by default, from offset 0', 'L1', 'L2'), async () => {
      for (const query of ['', 'page=', 'page=&offset=', 'page=%20', 'offset=0']) {
        const { data, meta } = await api.list(query)
        expect(data).toHaveLength(50)
        expect(meta).toEqual({ count: COUNT, offset: 0, page: 50 })
      }
    })

    test.each(['101', '1000', '2147483648', '9223372036854775808', '9'.repeat(50)])(
      rule('of %s is reduced to 100 without an error', 'L1', 'L9'),
      async page => {
        const { data, meta } = await api.list(`page=${page}`)
        expect(data).toHaveLength(100)
        expect(meta).toEqual({ count: COUNT, offset: 0, page: 100 })
      },
    )

    test(rule('is at most 100 with any filter', 'L10'), async () => {
      for (const filter of [
        'filter[search]=reading',
        'filter[start_date]=2026-01-01',
        'filter[end_date]=2026-12-31',
        'filter[product_ids][]=1&filter[product_ids][]=2',
        'filter[user_ids][]=501&filter[user_ids][]=502',
        'filter[seids][]=1234567890&filter[seids][]=S-502',
        'filter[proctor_ids][]=77&filter[proctor_ids][]=78',
        'filter[organization_ids][]=10',
        'filter[user_record_status][]=active&filter[user_record_status][]=archived',
        'filter[legacy_record][]=false',
      ]) {
        const { data, meta } = await api.list(`${filter}&page=500`)
        expect([filter, data.length <= 100, meta.page]).toEqual([filter, true, 100])
        expect(data).toHaveLength(Math.min(100, meta.count))
      }
    })
  })

  describe('the offset', () => {
    test(rule('skips that many records', 'L2'), async () => {
      const all = await walk('', 100)
      for (const offset of [1, 49, 50, 77, 129]) {
        const { data, meta } = await api.list(`offset=${offset}`)
        expect(data.map(record => record.id)).toEqual(all.slice(offset, offset + 50))
        expect(meta).toEqual({ count: COUNT, offset, page: 50 })
      }
    })

    test('at or after the end gives an empty page with the same count', async () => {
      for (const offset of [130, 131, 2_147_483_648, Number.MAX_SAFE_INTEGER])
        expect(await api.list(`offset=${offset}`)).toEqual({
          data: [],
          meta: { count: COUNT, offset, page: 50 },
        })
    })

    test('greater than any count gives an empty page, for a number of any length', async () => {
      for (const offset of ['9223372036854775808', '9'.repeat(5000)]) {
        const { data, meta } = await api.list(`offset=${offset}`)
        expect(data).toEqual([])
        expect(meta).toEqual({ count: COUNT, page: 50, offset: expect.any(Number) })
        expect(meta.offset).toBeGreaterThan(COUNT)
      }
    })
  })

  test.each(['0', '-1', `-${'9'.repeat(50)}`])(
    'is 400 for page=%s, and for the same offset unless it is 0',
    async value => {
      expectUnreadable(await api.tryList([['page', value]]), 'page')
      if (value !== '0') expectUnreadable(await api.tryList([['offset', value]]), 'offset')
    },
  )

  describe('the count', () => {
    test(rule('is the number of records that match the filters, on every page', 'L6'), async () => {
      for (const query of ['page=1', 'page=1&offset=25', 'page=100', 'offset=26', 'offset=5000']) {
        const { meta } = await api.list(`filter[organization_ids][]=20&${query}`)
        expect(meta.count).toBe(26)
      }
    })

    test('follows changes of the data', async () => {
      const { sql } = api.service
      expect((await api.list()).meta.count).toBe(COUNT)
      await sql`update assessments set organization_id = 10 where id = 1000`
      try {
        expect((await api.list()).meta.count).toBe(COUNT + 1)
      } finally {
        await sql`update assessments set organization_id = 30 where id = 1000`
      }
      expect((await api.list()).meta.count).toBe(COUNT)
    })
  })

  describe('a walk', () => {
    const sorts = [
      '',
      ...['certified_on', 'user_name', 'proctor_name', 'product_name'].map(sort => `sort=${sort}`),
    ]
    test.each(sorts.flatMap(sort => ['ASC', 'DESC'].map(order => `${sort}&order=${order}`)))(
      rule('with %s meets each record once, in the same order for every page size', 'L7'),
      async query => {
        const all = await walk(query, 100)
        expect(all.toSorted((a, b) => a - b)).toEqual(numbers)
        for (const page of [30, 50]) expect(await walk(query, page)).toEqual(all)
      },
    )

    test.each([
      'page=7',
      'page=100&sort=user_name&order=DESC',
      'filter[organization_ids][]=20&filter%5Bsearch%5D=Reading+Obs&page=4&x=%22%3E',
    ])('through Link for %s meets the same pages as one by offset, and ends', async query => {
      const page = Number(/page=(\d+)/.exec(query)?.[1])
      const ids: number[] = []
      let url: URL | undefined = new URL(`${LIST}?${query}`, api.service.baseUrl)
      while (url) {
        const { status, headers, body } = await api.get(url.pathname + url.search)
        expect(status).toBe(200)
        ids.push(...(body as ListBody).data.map(record => record.id))
        const [, next]: (string | undefined)[] = /^<(.+)>; rel="next"$/.exec(headers.get('link') ?? '') ?? []
        expect(next === undefined).toBe(ids.length === (body as ListBody).meta.count)
        url = next === undefined ? undefined : new URL(next, url)
      }
      expect(ids.length).toBeGreaterThan(page)
      expect(ids).toEqual(await walk(query.replace(/page=\d+/, ''), page))
    })

    test('gets the same Link for HEAD and with any content coding, and none for errors and single records', async () => {
      const expected = '<assessments?page=9&offset=14>; rel="next"'
      for (const method of ['GET', 'HEAD'])
        for (const coding of ['identity', 'gzip', 'zstd']) {
          const headers = { ...api.bearer(), 'accept-encoding': coding }
          const answer = await api.request(`${LIST}?offset=5&page=9`, { method, headers })
          expect([method, coding, answer.headers.get('link')]).toEqual([method, coding, expected])
        }
      for (const path of [`${LIST}?page=0`, `${LIST}/1`])
        expect((await api.get(path)).headers.get('link')).toBeNull()
    })
  })
})
