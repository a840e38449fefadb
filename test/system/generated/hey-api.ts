import { client } from './made/hey-api/client.gen.ts'
import { issueToken, listAssessments } from './made/hey-api/index.ts'
import { dataOf, NARROWED, refusalOf, tokenBody } from './shared.ts'
import { perform, TASK } from './task.ts'

client.setConfig({ baseUrl: TASK.baseUrl })

await perform<string>({
  async token() {
    const { access_token, expires_in } = dataOf(await issueToken({ body: tokenBody('client_credentials') }))
    return { token: access_token, lifetime: expires_in }
  },
  otherGrant: async () => dataOf(await issueToken({ body: tokenBody('password') })),
  async page(token, url) {
    const offset = Number(url.searchParams.get('offset'))
    return dataOf(await listAssessments({ query: { page: 100, offset, ...NARROWED }, auth: token }))
  },
  refusal: refusalOf,
})
