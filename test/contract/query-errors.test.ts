import { describe, expect, test } from 'bun:test'
import { assessment, world } from '../support/fixtures.ts'
import { contract, expectUnreadable, LIST, messageOnly, SCOPE } from './support/contract.ts'

const setup = {
  dependsOn: 'protocol',
  lines: [...world(), assessment(1)],
  integrations: { main: SCOPE },
} as const
const MAX_QUERY = 16 * 1024

contract('The query string', setup, api => {
  /** Sends the query string byte by byte, unchanged. */
  const raw = (query: string) =>
    api.raw([`GET ${LIST}?${query} HTTP/1.1`, `Authorization: ${api.bearer().authorization}`])
  const notUtf8 = messageOnly(/UTF-8/)

  describe('is 400, naming the parameter, for an invalid value of', () => {
    const ids = ['1 2', `${'9'.repeat(30)}x`, ..."abc 1.0 1.5 1e3 0x1 １２ --1 NaN 1;2 1'".split(' ')]
    const dates = [
      ...'yesterday today now infinity 2026-02-30 2025-02-29 1900-02-29 2026-13-01 2026-00-10'.split(' '),
      ...'2026-01-00 2026-1-1 26-01-01 20260101 2026/01/01 01-01-2026 2026-01-01T00:00:00Z 2026-01'.split(
        ' ',
      ),
      ...'-2026-01-01 12026-01-01 0000-01-01 ２０２６-01-01 1767225600'.split(' '),
      '2026-01-01 00:00',
    ]
    const status = [...'deleted Active ARCHIVED activ both 1 true null'.split(' '), 'active archived']
    const unreadable: [name: string, good: string, values: string[]][] = [
      ['product_ids', '1', ids],
      ['user_ids', '501', ids],
      ['proctor_ids', '77', ids],
      ['organization_ids', '10', ids],
      ['user_record_status', 'active', status],
      [
        'legacy_record',
        'true',
        'maybe yes no t f on 2 -1 01 null truefalse constructor __proto__ __PROTO__ toString'.split(' '),
      ],
    ]
    test.each(unreadable)('filter[%s][]', async (name, good, values) => {
      for (const value of values) {
        const pair = `filter[${name}][]=${encodeURIComponent(value)}`
        for (const query of [pair, `filter[${name}][]=${good}&${pair}`])
          expectUnreadable(await api.tryList(query), `filter[${name}]`)
      }
    })

    test.each(['start_date', 'end_date'])('filter[%s]', async name => {
      for (const value of dates) {
        expectUnreadable(await api.tryList([[`filter[${name}]`, value]]), `filter[${name}]`)
      }
    })

    test('several parameters, each of which is named', async () => {
      const { status, body } = await api.tryList('page=abc&filter[user_ids][]=x&filter[end_date]=y')
      const error = (parameter: string) => ({ message: expect.stringMatching(/\S/), parameter })
      expect(body).toEqual({ errors: ['page', 'filter[end_date]', 'filter[user_ids]'].map(error) })
      expect(status).toBe(400)
    })
  })

  describe('is 400', () => {
    test('for control characters in a value', async () => {
      for (const odd of ['%00', '%01', '%08', '%0A', '%0D', '%1B', '%1F', '%7F']) {
        expectUnreadable(await api.tryList(`filter[search]=a${odd}b`), 'filter[search]')
        expectUnreadable(await api.tryList(`filter[seids][]=a${odd}b`), 'filter[seids]')
        expectUnreadable(await api.tryList(`filter[seids][]=x&filter[seids][]=${odd}x`), 'filter[seids]')
        expectUnreadable(await api.tryList(`filter[start_date]=2026-01-01${odd}x`), 'filter[start_date]')
        expectUnreadable(await api.tryList(`page=5${odd}x`), 'page')
      }
      for (const name of ['search', 'seids', 'user_ids', 'end_date']) {
        expectUnreadable(await api.tryList(`filter[${name}]=%00`), `filter[${name}]`)
      }
    })

    test('for escapes that are not UTF-8', async () => {
      for (const odd of '%FF %C3%28 %C3 %E2%82 %ED%A0%80 %C0%80 %F5%80%80%80 a%80b %zz %'.split(' ')) {
        for (const name of ['filter[search]', 'filter[seids][]', 'page', 'x']) {
          const { status, body } = await api.tryList(`${name}=${odd}`)
          expect([name, odd, status, body]).toEqual([name, odd, 400, notUtf8])
        }
        expect((await api.tryList(`${odd}=1`)).body).toEqual(notUtf8)
      }
    })

    test('for bytes that are not UTF-8, and for U+FFFD', async () => {
      // The server passes on U+FFFD in place of such bytes, so the original bytes are unknown.
      for (const odd of ['filter[search]=\xff', 'filter[seids][]=a\xc3', '\xff=1', 'page=5&x=\xe2\x82']) {
        const { status, text } = await raw(odd)
        expect([odd, status, JSON.parse(text)]).toEqual([odd, 400, notUtf8])
      }
      expect((await api.tryList('filter[search]=%EF%BF%BD')).body).toEqual(notUtf8)
      expect((await raw('filter[search]=\xc3\xa9')).status).toBe(200)
    })

    test('for more than 16 KiB, but not for 16 KiB', async () => {
      const padded = (length: number) => 'padding='.padEnd(length, 'x')
      const { status: accepted, text } = await api.tryList(padded(MAX_QUERY))
      expect(accepted).toBe(200)
      expect(text).toBe((await api.tryList()).text)
      const { status, body } = await api.tryList(padded(MAX_QUERY + 1))
      expect([status, body]).toEqual([400, messageOnly(/16384 bytes/)])
    })

    test('or 431, from the HTTP server itself, for more than 64 KiB', async () => {
      expect((await raw('x'.repeat(60_000))).status).toBe(400)
      for (const length of [70_000, 1_000_000]) expect((await raw('x'.repeat(length))).status).toBe(431)
    })
  })
})
