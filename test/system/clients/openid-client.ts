import * as openid from 'openid-client'
import { refusal } from './refusal.ts'
import { type Page, perform, TASK } from './task.ts'

const server = { issuer: TASK.baseUrl, token_endpoint: `${TASK.baseUrl}/oauth/token` }
const styles: Record<string, (secret: string) => openid.ClientAuth> = {
  client_secret_basic: openid.ClientSecretBasic,
  client_secret_post: openid.ClientSecretPost,
}
const authentication = styles[TASK.style]?.(TASK.clientSecret)
const config = new openid.Configuration(server, TASK.clientId, {}, authentication)
openid.allowInsecureRequests(config)

await perform<string>({
  async token() {
    const result = await openid.clientCredentialsGrant(config)
    return { token: result.access_token, lifetime: result.expiresIn() ?? 0 }
  },
  otherGrant: () => openid.genericGrantRequest(config, 'password', { username: 'ana', password: 'x' }),
  async page(token, url) {
    const response = await openid.fetchProtectedResource(config, token, url, 'GET')
    return (await response.json()) as Page
  },
  refusal,
})
