import { expect, test } from 'bun:test'
import { contract, LIST, messageOnly } from './support/contract.ts'
import { assessment, educator, multiPart, organization, product, world } from './support/lines.ts'
import { exchange } from './support/raw.ts'

const setup = {
  lines: [
    ...world(),
    organization(30),
    product(3),
    educator(502, { seid: null, record_status: 'archived', name: 'Zoë "Zed" Öst' }),
    assessment(9001),
    multiPart(9100, [
      { id: 9101, name: 'Part 1', certified_at: '2026-02-01', proctor_id: 77 },
      { id: 9102, name: 'Part 2', certified_at: '2026-02-02', proctor_id: 77 },
    ]),
    assessment(9002, { user_id: 502, legacy_record: true }),
    assessment(9300, { organization_id: 30 }),
    assessment(9301, { product_id: 3 }),
    assessment(9302, { organization_id: 30, product_id: 3 }),
  ],
  integrations: { main: [[10], [1]], other: [[30], [1, 3]] },
} as const

contract('Retrieve', setup, api => {
  /** A 404, with the id that was asked for taken out of its text. */
  const notFound = async (id: number, as: 'main' | 'other' = 'main') => {
    const { status, body, text } = await api.get(`${LIST}/${id}`, as)
    expect(status).toBe(404)
    expect(body).toEqual(messageOnly())
    return text.replaceAll(String(id), 'ID')
  }

  test('answers with the record alone, byte for byte as the list has it', async () => {
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

  test('has exactly the fields of the specification', async () => {
    const { text } = await api.get(`${LIST}/9002`)
    expect(text).toBe(
      JSON.stringify({
        id: 9002,
        seid: null,
        name: 'Zoë "Zed" Öst',
        first_name: 'Given502',
        last_name: 'Family502',
        email: 'educator502@example.org',
        organization_id: 10,
        organization_name: 'Lakeside District',
        assessment_name: 'Reading Observation',
        certified_on: '2026-03-01',
        results: [
          {
            assessment_id: 9002,
            assessment_name: 'Reading Observation',
            certified_on: '2026-03-01',
            proctor_id: 77,
            proctor_name: 'Paul Proctor',
          },
        ],
      }),
    )
  })

  test("is 404 for a part's id, as for one that does not exist", async () => {
    const unknown = await notFound(777777)
    for (const id of [9101, 9102]) expect(await notFound(id)).toBe(unknown)
  })

  test('is 404 outside the scope, as for an id that does not exist', async () => {
    const unknown = await notFound(777777)
    for (const id of [9300, 9301, 9302]) expect(await notFound(id)).toBe(unknown)
    expect(await notFound(9001, 'other')).toBe(unknown)
    expect((await api.get(`${LIST}/9300`, 'other')).status).toBe(200)
    expect((await api.get(`${LIST}/9302`, 'other')).status).toBe(200)
  })

  test.each(['0', '-1', '-9001', '9223372036854775807', '9223372036854775808', '9'.repeat(40)])(
    'is 404 for the integer %s, which nothing has',
    async id => {
      const { status, body } = await api.get(`${LIST}/${id}`)
      expect(status).toBe(404)
      expect(body).toEqual(messageOnly())
    },
  )

  test('is 404 for what is longer than any id', async () => {
    for (const id of ['9'.repeat(8000), 'x'.repeat(8000)]) {
      const { status, body } = await api.get(`${LIST}/${id}`)
      expect(status).toBe(404)
      expect(body).toEqual(messageOnly())
    }
  })

  test.each([
    'abc',
    '9001abc',
    '9001.0',
    '9001.5',
    '9e3',
    '0x2329',
    '9001,9002',
    '9_001',
    '9001;',
    '%C2%B9',
    '９００１',
    "'",
    'null',
    'NaN',
  ])('is 404 for %j, which is no integer', async id => {
    const { status, body } = await api.get(`${LIST}/${id}`)
    expect(status).toBe(404)
    expect(body).toEqual(messageOnly())
  })

  test.each([
    '%00',
    '9001%00',
    '%FF',
    '9001%',
    '%zz',
    '%0A9001',
    '9001%0A',
    '9001%20',
    '%2F9001',
    '9001%2F',
    '%2e%2e',
  ])('is 404 for the escape %s as it is on the wire', async id => {
    const head = [`GET ${LIST}/${id} HTTP/1.1`, `Authorization: Bearer ${api.clients.main.token}`]
    const { status, body } = await exchange(api.service.baseUrl, head)
    expect(status).toBe(404)
    expect(JSON.parse(body)).toEqual(messageOnly())
  })

  test('is 404 with a trailing slash, or with more after it', async () => {
    for (const path of [`${LIST}/9001/`, `${LIST}/9001/results`, `${LIST}/9001/9001`]) {
      const { status, body } = await api.get(path)
      expect(status).toBe(404)
      expect(body).toEqual(messageOnly())
    }
  })

  test('ignores query parameters, which it has none of', async () => {
    const plain = await api.get(`${LIST}/9001`)
    for (const query of ['?', '?page=abc', '?filter[seids][]=nobody', '?id=9002']) {
      const { status, text } = await api.get(`${LIST}/9001${query}`)
      expect(status).toBe(200)
      expect(text).toBe(plain.text)
    }
  })
})
