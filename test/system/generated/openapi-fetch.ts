import createClient from 'openapi-fetch'
import type { paths } from './made/openapi-typescript.ts'
import { NARROWED, Refused, refusalOf } from './shared.ts'
import { perform, TASK } from './task.ts'

const api = createClient<paths>({ baseUrl: TASK.baseUrl })

async function issueToken(grant_type: string) {
  const { data, error, response } = await api.POST('/oauth/token', {
    body: {
      // Any other grant is against the type.
      grant_type: grant_type as 'client_credentials',
      client_id: TASK.clientId,
      client_secret: TASK.clientSecret,
    },
  })
  if (!data) throw new Refused(response, error)
  return data
}

await perform<string>({
  async token() {
    const { access_token, expires_in } = await issueToken('client_credentials')
    return { token: access_token, lifetime: expires_in }
  },
  otherGrant: () => issueToken('password'),
  async page(token, url) {
    const offset = Number(url.searchParams.get('offset'))
    const { data, error, response } = await api.GET('/api/v1/ax/assessments', {
      params: { query: { page: 100, offset, ...NARROWED } },
      headers: { authorization: `Bearer ${token}` },
    })
    if (!data) throw new Refused(response, error)
    return data
  },
  refusal: refusalOf,
})
