import { client } from './made/hey-api/client.gen.ts'
import { issueToken, listAssessments } from './made/hey-api/index.ts'
import { NARROWED, Refused, refusalOf } from './shared.ts'
import { perform, TASK } from './task.ts'

client.setConfig({ baseUrl: TASK.baseUrl })

async function tokenFor(grant_type: string) {
  const { data, error, response } = await issueToken({
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
    const { access_token, expires_in } = await tokenFor('client_credentials')
    return { token: access_token, lifetime: expires_in }
  },
  otherGrant: () => tokenFor('password'),
  async page(token, url) {
    const offset = Number(url.searchParams.get('offset'))
    const { data, error, response } = await listAssessments({
      query: { page: 100, offset, ...NARROWED },
      auth: token,
    })
    if (!data) throw new Refused(response, error)
    return data
  },
  refusal: refusalOf,
})
