import createClient from 'openapi-fetch'
import type { paths } from './made/openapi-typescript.ts'
import { dataOf, NARROWED, refusalOf, tokenBody } from './shared.ts'
import { perform, TASK } from './task.ts'

const api = createClient<paths>({ baseUrl: TASK.baseUrl })

await perform<string>({
  async token() {
    const answer = await api.POST('/oauth/token', { body: tokenBody('client_credentials') })
    const { access_token, expires_in } = dataOf(answer)
    return { token: access_token, lifetime: expires_in }
  },
  otherGrant: async () => dataOf(await api.POST('/oauth/token', { body: tokenBody('password') })),
  async page(token, url) {
    const offset = Number(url.searchParams.get('offset'))
    const answer = await api.GET('/api/v1/ax/assessments', {
      params: { query: { page: 100, offset, ...NARROWED } },
      headers: { authorization: `Bearer ${token}` },
    })
    return dataOf(answer)
  },
  refusal: refusalOf,
})
