/**
 * The HTTP client of the tests. `baseUrl` is "http://host:port". The client neither retries nor follows redirects, and
 * reads every answer to its end.
 */

export const LIST = '/api/v1/ax/assessments'
export const TOKEN = '/oauth/token'

/** A whole answer. `body` is the parsed text, or undefined if the text is not JSON. */
export interface Answer {
  status: number
  headers: Headers
  text: string
  body: unknown
}

/** A record: an element of a list, and the body of a retrieve answer (contract R2, R7). */
export interface AssessmentRecord {
  id: number
  seid: string | null
  name: string
  first_name: string
  last_name: string
  email: string
  organization_id: number
  organization_name: string
  assessment_name: string
  certified_on: string
  results: {
    assessment_id: number
    assessment_name: string
    certified_on: string
    proctor_id: number
    proctor_name: string
  }[]
}

/** The body of a list answer (contract L5, L6). */
export interface ListBody {
  data: AssessmentRecord[]
  meta: { count: number; offset: number; page: number }
}

/** Credentials as createIntegration() returns them, or as `axport integration create --json` prints them. */
export type Credentials =
  | { clientId: string; clientSecret: string }
  | { client_id: string; client_secret: string }

/** A query string that is already encoded, or parameters that are not. */
export type Query = string | Record<string, string> | [name: string, value: string][]

/** Sends any request, with exactly these headers. */
export async function send(baseUrl: string, path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(baseUrl + path, { redirect: 'manual', ...init })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: parsed(text) }
}

/** GET with a token. */
export function get(baseUrl: string, token: string, path: string, init: RequestInit = {}): Promise<Answer> {
  return send(baseUrl, path, { ...init, headers: bearer(token) })
}

/** GET the list; returns answers of any status. */
export function tryList(baseUrl: string, token: string, query: Query = ''): Promise<Answer> {
  return get(baseUrl, token, listPath(query))
}

/** The body of a list; throws unless its status is 200. */
export async function list(baseUrl: string, token: string, query: Query = ''): Promise<ListBody> {
  return successful(await tryList(baseUrl, token, query)) as ListBody
}

/** POST /oauth/token with form parameters; returns answers of any status. */
export function postToken(baseUrl: string, credentials: Credentials): Promise<Answer> {
  return send(baseUrl, TOKEN, { method: 'POST', body: new URLSearchParams(tokenRequest(credentials)) })
}

/** A new access token; throws unless the service issues one. */
export async function newToken(baseUrl: string, credentials: Credentials): Promise<string> {
  return (successful(await postToken(baseUrl, credentials)) as { access_token: string }).access_token
}

/** The header that carries a token. */
export function bearer(token: string): { authorization: string } {
  return { authorization: `Bearer ${token}` }
}

/** The three parameters of a token request (contract T1). */
export function tokenRequest(credentials: Credentials) {
  const [client_id, client_secret] =
    'clientId' in credentials
      ? [credentials.clientId, credentials.clientSecret]
      : [credentials.client_id, credentials.client_secret]
  return { grant_type: 'client_credentials', client_id, client_secret }
}

/** The path of the list with a query; parameters that are not a string are encoded. */
export function listPath(query: Query): string {
  const text = typeof query === 'string' ? query : new URLSearchParams(query).toString()
  return text === '' ? LIST : `${LIST}?${text}`
}

/** The body of an answer; throws unless its status is 200. */
export function successful({ status, text, body }: Answer): unknown {
  if (status !== 200) throw new Error(`expected 200, got ${status}: ${text}`)
  return body
}

/** The ids of a whole list on one page; throws when meta.count is another number. */
export function idsOf({ data, meta }: ListBody): number[] {
  if (meta.count !== data.length)
    throw new Error(`${data.length} records, and meta is ${JSON.stringify(meta)}`)
  return data.map(record => record.id)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
