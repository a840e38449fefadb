import { expect, test } from 'bun:test'
import { assessment, educator, proctor, world } from '../support/fixtures.ts'
import { until } from '../support/until.ts'
import { contract, LIST, NOTHING, oauthError, SCOPE, TOKEN } from './support/contract.ts'

const PERSONAL = {
  name: 'Zdenka Q. Personname',
  first_name: 'Zdenkafirst',
  last_name: 'Personlast',
  email: 'zdenka.mail@school.example',
  seid: 'SEID-778899',
}
const SEARCHED = 'Searchedtext'

const setup = {
  lines: [
    ...world(),
    proctor(78, 'Proctorperson'),
    educator(502, PERSONAL),
    assessment(9001, { user_id: 502, proctor_id: 78 }),
  ],
  integrations: { main: SCOPE, empty: NOTHING },
} as const

contract('The log', setup, api => {
  const secrets = () => {
    const { main, empty } = api.clients
    const credentials = [main.token, main.clientSecret, empty.token, empty.clientSecret]
    const texts = [...credentials, ...Object.values(PERSONAL), 'Proctorperson', SEARCHED, 'zdenka']
    return [...texts, ...texts.map(encodeURIComponent), api.basic().authorization.slice('Basic '.length)]
  }

  const requestsLogged = () => api.service.logged().split('"status":').length - 1

  /** Waits until the log has this many requests, as it comes from other processes, and searches the log. */
  const expectNothingPersonal = async (requests: number) => {
    await until('the log has every request', () => requestsLogged() >= requests)
    const logged = api.service.logged()
    for (const text of secrets()) expect(logged.toLowerCase()).not.toContain(text.toLowerCase())
  }

  const traffic = async () => {
    const { token, clientId, clientSecret } = api.clients.main
    const { seid, email, name, last_name } = PERSONAL
    const statuses: number[] = []
    const got = async (answer: Promise<{ status: number }>) => statuses.push((await answer).status)
    await got(api.tokenByForm(api.credentials()))
    await got(api.tokenByJson(api.credentials()))
    await got(api.tokenByForm({ grant_type: 'client_credentials' }, api.basic()))
    await got(api.tokenByForm({ ...api.credentials(), client_id: clientSecret }))
    await got(api.tokenByJson({ ...api.credentials(), grant_type: clientSecret }))
    await got(api.tokenByJson(`{"client_secret":"${clientSecret}"`))
    await got(api.request(`${TOKEN}?client_secret=${clientSecret}&client_id=${clientId}`, { method: 'POST' }))
    await got(api.request(`${TOKEN}?client_secret=${clientSecret}`))
    await got(api.tryList())
    await got(api.tryList('', { bearer: `${token}x` }))
    await got(api.tryList('', 'empty'))
    await got(api.request(`${LIST}?access_token=${token}`))
    for (const value of [SEARCHED, name, last_name, email, seid]) {
      const names = 'filter[search] filter[seids][] filter[user_ids][] filter[start_date] page sort x'
      for (const name of names.split(' ')) await got(api.tryList([[name, value]]))
      await got(api.tryList(`filter[search]=${encodeURIComponent(value)}%00`))
      await got(api.tryList(`filter[search]=${encodeURIComponent(value)}%FF`))
      await got(api.tryList(`${encodeURIComponent(value)}=1`))
      // A client's mistake: the text of a filter in place of the id.
      await got(api.get(`${LIST}/${encodeURIComponent(value)}`))
    }
    await got(api.get(`${LIST}/9001`))
    await got(api.get(`${LIST}/${token}`))
    await got(api.get(`${LIST}/9001?seid=${seid}`, { bearer: clientSecret }))
    await got(api.request(LIST, { method: 'POST', body: JSON.stringify(PERSONAL) }))
    return statuses
  }

  test('has no token, secret, name, email, seid or search text of any request', async () => {
    const known = requestsLogged()
    const statuses = await traffic()
    expect([...new Set(statuses)].toSorted((a, b) => a - b)).toEqual([200, 400, 401, 404, 405])
    await expectNothingPersonal(known + statuses.length)
  })

  test('and answers have nothing of the database if the database fails', async () => {
    const { sql } = api.service
    const known = requestsLogged()
    const leaking = /export_records|access_tokens|relation|select|postgres|sql|\bat \//i
    await sql`alter table export_records rename to export_records_away`
    try {
      for (const answer of [
        await api.tryList([['filter[search]', SEARCHED]]),
        await api.tryList([['filter[seids][]', PERSONAL.seid]]),
        await api.get(`${LIST}/9001`),
      ]) {
        expect(answer.status).toBe(500)
        expect(answer.headers.get('content-type')).toMatch(/^application\/json(;|$)/)
        expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
        expect(answer.text).not.toMatch(leaking)
        expect(answer.body).toEqual({ errors: [{ message: expect.stringMatching(/\S/) }] })
      }
    } finally {
      await sql`alter table export_records_away rename to export_records`
    }
    await sql`alter table access_tokens rename to access_tokens_away`
    try {
      const answer = await api.tokenByForm(api.credentials())
      expect(answer.status).toBe(500)
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(answer.text).not.toMatch(leaking)
      expect(answer.body).toEqual(oauthError('server_error'))
    } finally {
      await sql`alter table access_tokens_away rename to access_tokens`
    }
    expect(await api.ids()).toEqual([9001])
    await expectNothingPersonal(known + 5)
  })
})
