import { type AccessToken, ClientCredentials, type ModuleOptions, ResourceOwnerPassword } from 'simple-oauth2'
import { type Page, perform, TASK } from './task.ts'

const styles: Record<string, ModuleOptions['options']> = {
  client_secret_basic: { authorizationMethod: 'header', bodyFormat: 'form' },
  'client_secret_basic and JSON': { authorizationMethod: 'header', bodyFormat: 'json' },
  client_secret_post: { authorizationMethod: 'body', bodyFormat: 'form' },
  JSON: { authorizationMethod: 'body', bodyFormat: 'json' },
}
const config: ModuleOptions = {
  client: { id: TASK.clientId, secret: TASK.clientSecret },
  auth: { tokenHost: TASK.baseUrl },
  options: styles[TASK.style],
}

await perform<AccessToken>({
  async token() {
    const token = await new ClientCredentials(config).getToken({})
    const end = token.token.expires_at as Date
    return { token, lifetime: (end.getTime() - Date.now()) / 1000 }
  },
  otherGrant: () => new ResourceOwnerPassword(config).getToken({ username: 'ana', password: 'x' }),
  // The library only requests tokens; the program sends the requests with them.
  async page({ token }, url) {
    const response = await fetch(url, { headers: { authorization: `Bearer ${token.access_token}` } })
    if (!response.ok) throw response
    return (await response.json()) as Page
  },
  async refusal(error) {
    if (error instanceof Response)
      return refused('Response', error.status, await error.json(), error.headers.get('www-authenticate'))
    const { isBoom, output, data } = error as Boom
    if (!isBoom || !data?.payload) return undefined
    return refused('Boom', output.statusCode, data.payload, data.headers['www-authenticate'])
  },
})

/** The form of errors of the library's HTTP client, @hapi/wreck. */
interface Boom {
  isBoom?: boolean
  output: { statusCode: number }
  data?: { payload?: unknown; headers: Record<string, string> }
}

function refused(kind: string, status: number, body: unknown, challenge: string | null | undefined) {
  const { error, error_description: description } = body as { error: string; error_description: string }
  return { kind, status, error, description, challenge: challenge ?? undefined }
}
