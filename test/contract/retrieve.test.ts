import { expect, test } from 'bun:test'
import { CONTROLS, NO_IDS, NO_NUMBERS, NO_UTF8, words } from '../support/bad-values.ts'
import { assessment, educator, multiPart, organization, product, world } from '../support/fixtures.ts'
import { contract, LIST, messageOnly, SCOPE } from './support/contract.ts'
import { rule } from './support/rule.ts'

const setup = {
  lines: [
    ...world(),
    organization(30),
    product(3),
    educator(502, { seid: null, record_status: 'archived', name: 'Zoë "Zed" Öst' }),
    assessment(9001),
    multiPart(9100, [9101, 9102]),
    assessment(9002, { user_id: 502, legacy_record: true }),
    assessment(9300, { organization_id: 30 }),
    assessment(9301, { product_id: 3 }),
    assessment(9302, { organization_id: 30, product_id: 3 }),
  ],
  integrations: {
    main: SCOPE,
    other: { organizations: [30], products: [1, 3] },
  },
} as const

contract('Retrieve', setup, api => {
  /** The text of a 404 without the requested id. */
  const notFound = async (id: number, as: 'main' | 'other' = 'main') => {
    const { status, body, text } = await api.get(`${LIST}/${id}`, as)
    expect([status, body]).toEqual([404, messageOnly()])
    return text.replaceAll(String(id), 'ID')
  }

  test(rule('returns exactly the record of the list, and nothing around it', 'G1', 'G2', 'R2'), async () => {
    const list = await api.tryList()
    for (const id of [9001, 9100, 9002]) {
      const { status, text, headers } = await api.get(`${LIST}/${id}`)
      expect(status).toBe(200)
      expect(headers.get('content-type')).toMatch(/^application\/json(;|$)/)
      expect(list.text).toContain(text)
      expect(text).toStartWith(`{"id":${id},"seid":`)
      expect(text).toEndWith('}]}')
    }
    expect(list.body).toEqual({
      data: [
        (await api.get(`${LIST}/9001`)).body,
        (await api.get(`${LIST}/9002`)).body,
        (await api.get(`${LIST}/9100`)).body,
      ],
      meta: { count: 3, offset: 0, page: 50 },
    })
  })

  test(rule('is 404 for the id of a part, as for an unknown id', 'G3'), async () => {
    const unknown = await notFound(777777)
    for (const id of [9101, 9102]) expect(await notFound(id)).toBe(unknown)
  })

  test(rule('is 404 outside the scope, as for an unknown id', 'S2', 'G3'), async () => {
    const unknown = await notFound(777777)
    for (const id of [9300, 9301, 9302]) expect(await notFound(id)).toBe(unknown)
    expect(await notFound(9001, 'other')).toBe(unknown)
    expect((await api.get(`${LIST}/9300`, 'other')).status).toBe(200)
    expect((await api.get(`${LIST}/9302`, 'other')).status).toBe(200)
  })

  test.each([
    ...[...NO_IDS, ...NO_NUMBERS, '9'.repeat(8000), 'x'.repeat(8000)],
    // Spellings of an id that exists.
    ...words('-9001 9001abc 9001.0 9001.5 9e3 0x2329 9001,9002 9_001 9001; ９００１'),
    ...words('9001/ 9001/results 9001/9001'),
  ])(rule('is 404 for %j, which is not the id of any record', 'G3'), async id => {
    const { status, body } = await api.get(`${LIST}/${id}`)
    expect([status, body]).toEqual([404, messageOnly()])
  })

  const odd = [...NO_UTF8, ...CONTROLS, '%20', '%2F']
  test.each([...odd.flatMap(text => [text, `${text}9001`, `9001${text}`]), '%2e%2e'])(
    'is 404 for the unescaped path %s',
    async id => {
      const head = [`GET ${LIST}/${id} HTTP/1.1`, `Authorization: ${api.bearer().authorization}`]
      const { status, text } = await api.raw(head)
      expect([status, JSON.parse(text)]).toEqual([404, messageOnly()])
    },
  )

  test('ignores query parameters', async () => {
    const plain = await api.get(`${LIST}/9001`)
    for (const query of ['?', '?page=abc', '?filter[seids][]=nobody', '?id=9002']) {
      const { status, text } = await api.get(`${LIST}/9001${query}`)
      expect([query, status, text]).toEqual([query, 200, plain.text])
    }
  })
})
