import { describe, expect, test } from 'bun:test'
import { OTHER_METHODS, OTHER_PATHS } from '../support/bad-values.ts'
import { assessment, world } from '../support/fixtures.ts'
import { contract, LIST, messageOnly, SCOPE, TOKEN } from './support/contract.ts'
import { rule } from './support/rule.ts'

const setup = {
  lines: [...world(), assessment(9001)],
  integrations: { main: SCOPE, empty: { organizations: [], products: [1] } },
} as const
const PATHS = [LIST, `${LIST}/9001`]

contract('The API', setup, api => {
  const raw = (method: string, path: string, headers: string[] = []) =>
    api.raw([`${method} ${path} HTTP/1.1`, ...headers])
  const bearer = () => `Authorization: ${api.bearer().authorization}`

  describe('for a method other than GET and HEAD', () => {
    test.each(OTHER_METHODS)(rule('answers 405 with Allow for %s, with any token', 'S1'), async method => {
      for (const path of [...PATHS, `${LIST}/abc`, `${LIST}?page=abc`]) {
        for (const headers of [[], [bearer()], ['Authorization: Bearer x']]) {
          const answer = await raw(method, path, headers)
          expect(answer.status).toBe(405)
          expect(answer.headers.get('allow')).toBe('GET, HEAD')
          expect(answer.headers.get('www-authenticate')).toBeUndefined()
          expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
          expect(JSON.parse(answer.text)).toEqual(messageOnly())
        }
      }
    })

    test(rule('changes nothing', 'S1'), async () => {
      const before = await api.tryList()
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
        const headers = { ...api.bearer(), 'content-type': 'application/json' }
        const body = '{"id":9001,"name":"x"}'
        for (const path of PATHS)
          expect((await api.request(path, { method, headers, body })).status).toBe(405)
      }
      expect((await api.tryList()).text).toBe(before.text)
    })

    test('answers 405 for any body', async () => {
      for (const path of [...PATHS, TOKEN])
        for (const type of ['application/json', 'multipart/form-data', 'text/plain']) {
          const request = { method: 'DELETE', headers: { 'content-type': type }, body: '{' }
          expect((await api.request(path, request)).status).toBe(405)
        }
    })
  })

  describe('for other paths', () => {
    test.each(OTHER_PATHS)(rule('answers 404 for %s', 'S4'), async path => {
      for (const method of ['GET', 'POST']) {
        const answer = await raw(method, path, [bearer()])
        expect([method, answer.status]).toEqual([method, 404])
        expect(JSON.parse(answer.text)).toEqual(messageOnly())
        expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
      }
    })
  })

  describe('in its headers', () => {
    test('forbids caching of records, and content sniffing, has a challenge only with 401, and is the same for HEAD', async () => {
      const nobodys = 'Authorization: Bearer x'
      const cases: [path: string, headers: string[], status: number][] = [
        ...[...PATHS, `${LIST}?filter[seids][]=nobody`].map((path): [string, string[], number] => [
          path,
          [bearer()],
          200,
        ]),
        [`${LIST}/1`, [bearer()], 404],
        [`${LIST}?page=abc`, [bearer()], 400],
        [LIST, [`Authorization: Bearer ${api.clients.empty.token}`], 400],
        [LIST, [], 401],
        [`${LIST}/9001`, [nobodys], 401],
        ['/nothing', [bearer()], 404],
      ]
      for (const [path, sent, status] of cases) {
        const head = await raw('HEAD', path, sent)
        const { status: given, headers, text } = await raw('GET', path, sent)
        expect([path, given, head.status, head.text]).toEqual([path, status, status, ''])
        expect(text).not.toBe('')
        expect([path, headers.has('www-authenticate')]).toEqual([path, status === 401])
        if (status === 200) expect(headers.get('cache-control')).toBe('private, no-store')
        expect(headers.get('x-content-type-options')).toBe('nosniff')
        expect(headers.get('content-type')).toMatch(/^application\/json(;|$)/)
        const names =
          'content-length content-type cache-control www-authenticate x-content-type-options pragma'
        for (const name of names.split(' '))
          expect([name, head.headers.get(name)]).toEqual([name, headers.get(name)])
      }
    })

    test('does not let pages of other origins read answers', async () => {
      const origin = { origin: 'https://elsewhere.example' }
      const headers = { ...api.bearer(), ...origin }
      const preflight = { ...origin, 'access-control-request-method': 'GET' }
      const answers = [
        await api.request(LIST, { headers }),
        await api.request(LIST, { method: 'OPTIONS', headers: preflight }),
        await api.request(TOKEN, { method: 'OPTIONS', headers: preflight }),
      ]
      expect(answers.map(({ status }) => status)).toEqual([200, 405, 405])
      for (const { headers } of answers) {
        expect([...headers.keys()].filter(name => name.startsWith('access-control-'))).toEqual([])
      }
    })

    test('does not depend on Accept or the content type of the request', async () => {
      const plain = await api.tryList()
      for (const more of [{ accept: 'text/html' }, { 'content-type': 'application/xml' }]) {
        const answer = await api.request(LIST, { headers: { ...api.bearer(), ...more } })
        expect(answer.text).toBe(plain.text)
        expect(answer.headers.get('content-type')).toBe(plain.headers.get('content-type'))
      }
    })
  })
})
