import { describe, expect, test } from 'bun:test'
import { CONTROLS, INHERITED, NO_DAYS, NO_NUMBERS, NO_UTF8, words } from '../support/bad-values.ts'
import { assessment, world } from '../support/fixtures.ts'
import { contract, expectUnreadable, LIST, messageOnly, SCOPE } from './support/contract.ts'

const setup = {
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
    const status = [...words('deleted Active ARCHIVED activ both 1 true null'), 'active archived']
    const legacy = [...words('maybe yes no t f on 2 -1 01 null truefalse __PROTO__'), ...INHERITED]
    const unreadable: [name: string, good: string, values: string[]][] = [
      ['product_ids', '1', NO_NUMBERS],
      ['user_ids', '501', NO_NUMBERS],
      ['proctor_ids', '77', NO_NUMBERS],
      ['organization_ids', '10', NO_NUMBERS],
      ['user_record_status', 'active', status],
      ['legacy_record', 'true', legacy],
    ]
    test.each(unreadable)('filter[%s][]', async (name, good, values) => {
      for (const value of values) {
        const pair = `filter[${name}][]=${encodeURIComponent(value)}`
        for (const query of [pair, `filter[${name}][]=${good}&${pair}`])
          expectUnreadable(await api.tryList(query), `filter[${name}]`)
      }
    })

    const scalars: [name: string, values: string[]][] = [
      ['filter[start_date]', NO_DAYS],
      ['filter[end_date]', NO_DAYS],
      ['page', NO_NUMBERS],
      ['offset', NO_NUMBERS],
    ]
    test.each(scalars)('%s', async (name, values) => {
      for (const value of values) expectUnreadable(await api.tryList([[name, value]]), name)
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
      for (const odd of CONTROLS) {
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
      for (const odd of NO_UTF8) {
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
