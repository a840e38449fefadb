import { type Static, Type as t } from '@sinclair/typebox'
import { HttpError, type LogFields } from '../answers.ts'

/**
 * The parameters that mean anything here; all others are ignored, `scope` among them. Blanks are left out (RFC 6749
 * §3.2: an empty parameter equals an omitted one).
 */
export const TokenParameters = t.Object({
  grant_type: t.Literal('client_credentials', { description: 'Must be client_credentials.' }),
  client_id: t.Optional(
    t.String({
      description: 'Public identifier of the integration; here, or as the user name of HTTP Basic.',
    }),
  ),
  client_secret: t.Optional(
    t.String({ description: 'Secret of the integration; here, or as the password of HTTP Basic.' }),
  ),
})
export type TokenParameters = Static<typeof TokenParameters>

const NAMES = ['grant_type', 'client_id', 'client_secret'] as const
type Texts = Partial<Record<(typeof NAMES)[number], string>>

/**
 * Reads the body of a token request: a form, or what was JSON. Pure. The steps are in the order in which their errors
 * take precedence.
 * @throws HttpError 400, in the form of RFC 6749 §5.2
 */
export function readTokenParameters(body: unknown): TokenParameters {
  const { grant_type, ...client } = textsOf(body)
  if (grant_type !== 'client_credentials') {
    throw oauthError(400, 'unsupported_grant_type', 'grant_type must be client_credentials')
  }
  return { grant_type, ...client }
}

/**
 * The client that a request names, in its body or by HTTP Basic (`authorization` is the header). RFC 6749 §2.3: not
 * more than one way of authentication in a request.
 * @throws HttpError 400 or 401
 */
export function clientOf(
  { client_id: clientId, client_secret: clientSecret }: TokenParameters,
  authorization: string | null,
): Client {
  const [, encoded] = /^basic\b\s*(.*)$/i.exec(authorization?.trim() ?? '') ?? []
  if (encoded !== undefined && clientSecret) {
    const description = 'Send the client credentials in the header or in the body, not in both'
    throw oauthError(400, 'invalid_request', description)
  }
  const basic = encoded === undefined ? undefined : readBasic(encoded)
  if (basic && clientId && clientId !== basic.clientId) throw invalidClient()
  if (basic) return basic
  if (!clientId || !clientSecret) throw invalidClient()
  return { clientId, clientSecret }
}

/**
 * The only 401 of this endpoint: unknown, wrong and disabled clients cannot be told apart.
 * @param logFields which may name a client that exists
 */
export function invalidClient(logFields?: LogFields): HttpError {
  const headers = { 'www-authenticate': 'Basic realm="axport", charset="UTF-8"' }
  return oauthError(401, 'invalid_client', 'Client authentication failed', headers, logFields)
}

/** RFC 6749 §5.1: on every answer of the token endpoint, errors too. */
export const NOT_STORED = { 'cache-control': 'no-store', pragma: 'no-cache' }

/** An error of the token endpoint. `description` is ASCII without quotes or backslashes (RFC 6749 §5.2). */
export function oauthError(
  status: number,
  error: string,
  description: string,
  headers?: Record<string, string>,
  logFields?: LogFields,
) {
  const body = { error, error_description: description }
  return new HttpError(status, body, { ...NOT_STORED, ...headers }, logFields)
}

/** RFC 6749 has no codes for trouble of the service at this endpoint; these two it has for the other one (§4.1.2.1). */
export function oauthTrouble(status: number, description: string, headers?: Record<string, string>) {
  return oauthError(status, status === 500 ? 'server_error' : 'temporarily_unavailable', description, headers)
}

function textsOf(body: unknown): Texts {
  const isForm = body instanceof URLSearchParams
  if (!isForm && (typeof body !== 'object' || body === null || Array.isArray(body))) {
    throw oauthError(400, 'invalid_request', 'The body must be a JSON object')
  }
  const sent: [name: string, value: unknown][] = isForm ? [...body] : Object.entries(body)
  const texts: Texts = {}
  for (const name of NAMES) {
    const [found, ...repeated] = sent.filter(([given]) => given === name)
    const value = found?.[1]
    if (repeated.length > 0) throw oauthError(400, 'invalid_request', `${name} must not be repeated`)
    if (value !== undefined && typeof value !== 'string') {
      throw oauthError(400, 'invalid_request', `${name} must be a string`)
    }
    if (value) texts[name] = value
  }
  return texts
}

/** Who asks for a token. */
interface Client {
  clientId: string
  clientSecret: string
}

/** RFC 7617, with the form encoding of both halves that RFC 6749 §2.3.1 asks of clients. */
function readBasic(encoded: string): Client {
  const pair = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = pair.indexOf(':')
  if (colon < 0) throw invalidClient()
  const clientId = formDecoded(pair.slice(0, colon))
  const clientSecret = formDecoded(pair.slice(colon + 1))
  if (!clientId || !clientSecret) throw invalidClient()
  return { clientId, clientSecret }
}

/** Not every library encodes: text that does not decode was sent as it is. */
function formDecoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
