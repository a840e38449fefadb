import * as oauth from 'oauth4webapi'
import { refusal } from './refusal.ts'
import { type Page, perform, TASK } from './task.ts'

const server = { issuer: TASK.baseUrl, token_endpoint: `${TASK.baseUrl}/oauth/token` }
const client = { client_id: TASK.clientId }
const styles: Record<string, (secret: string) => oauth.ClientAuth> = {
  client_secret_basic: oauth.ClientSecretBasic,
  client_secret_post: oauth.ClientSecretPost,
}
const authentication = (styles[TASK.style] as (secret: string) => oauth.ClientAuth)(TASK.clientSecret)
const options = { [oauth.allowInsecureRequests]: true }

await perform<string>({
  async token() {
    const response = await oauth.clientCredentialsGrantRequest(server, client, authentication, {}, options)
    const result = await oauth.processClientCredentialsResponse(server, client, response)
    return { token: result.access_token, lifetime: result.expires_in ?? 0 }
  },
  async otherGrant() {
    const ask = oauth.genericTokenEndpointRequest
    const user = { username: 'ana', password: 'x' }
    const response = await ask(server, client, authentication, 'password', user, options)
    await oauth.processGenericTokenEndpointResponse(server, client, response)
  },
  async page(token, url) {
    const response = await oauth.protectedResourceRequest(token, 'GET', url, undefined, undefined, options)
    return (await response.json()) as Page
  },
  refusal,
})
