import { Type as t } from '@sinclair/typebox'
import { HttpError } from '../answers.ts'

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
const PARAMETERS = Object.keys(TokenParameters.properties) as (keyof typeof TokenParameters.properties)[]
type Parameters = Partial<Record<(typeof PARAMETERS)[number], string>>

/**
 * Reads a token request in any of the three ways of spec 4.1. Pure. The steps are in the order in which
 * their errors take precedence: shape of the body, grant type (400), client (401).
 * @throws HttpError 400 or 401, in the form of RFC 6749 §5.2
 */
export function readTokenRequest(
  contentType: string | null,
  body: string,
  authorization: string | null,
): { clientId: string; clientSecret: string } {
  const parameters = readBody(contentType, body)
  requireClientCredentials(parameters)
  return clientOf(parameters, readBasic(authorization))
}

/** The only 401 of this endpoint: unknown, wrong and disabled clients can not be told apart. */
export function invalidClient(): HttpError {
  return oauthError(401, 'invalid_client', 'Client authentication failed', {
    'www-authenticate': 'Basic realm="axport", charset="UTF-8"',
  })
}

/** RFC 6749 §5.1: on every answer of the token endpoint, errors too. */
export const NOT_STORED = { 'cache-control': 'no-store', pragma: 'no-cache' }

/** An error of the token endpoint. `description` is ASCII without quotes or backslashes (RFC 6749 §5.2). */
export function oauthError(
  status: number,
  error: string,
  description: string,
  headers?: Record<string, string>,
) {
  return new HttpError(status, { error, error_description: description }, { ...NOT_STORED, ...headers })
}

function requireClientCredentials(parameters: Parameters): void {
  if (parameters.grant_type !== 'client_credentials') {
    throw oauthError(400, 'unsupported_grant_type', 'grant_type must be client_credentials')
  }
}

/** RFC 6749 §2.3: not more than one way of authentication in a request. */
function clientOf(parameters: Parameters, basic: BasicCredentials | undefined) {
  const { client_id: clientId, client_secret: clientSecret } = parameters
  if (basic) {
    if (clientSecret) {
      throw oauthError(
        400,
        'invalid_request',
        'Send the client credentials in the header or in the body, not in both',
      )
    }
    if (clientId && clientId !== basic.clientId) throw invalidClient()
    return basic
  }
  if (!clientId || !clientSecret) throw invalidClient()
  return { clientId, clientSecret }
}

/** A body of another or no content type holds no parameters, as does the query string (it ends up in logs). */
function readBody(contentType: string | null, body: string): Parameters {
  const mediaType = contentType?.split(';')[0]?.trim().toLowerCase()
  if (mediaType === 'application/x-www-form-urlencoded') return readForm(body)
  if (mediaType === 'application/json') return readJson(body)
  return {}
}

function readForm(body: string): Parameters {
  const form = new URLSearchParams(body)
  const parameters: Parameters = {}
  for (const name of PARAMETERS) {
    const [value, ...repeated] = form.getAll(name)
    if (repeated.length > 0) throw oauthError(400, 'invalid_request', `${name} must not be repeated`)
    if (value) parameters[name] = value
  }
  return parameters
}

function readJson(body: string): Parameters {
  let json: unknown
  try {
    json = JSON.parse(body)
  } catch {
    throw oauthError(400, 'invalid_request', 'The body is not valid JSON')
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw oauthError(400, 'invalid_request', 'The body must be a JSON object')
  }
  const parameters: Parameters = {}
  for (const name of PARAMETERS) {
    const value = Object.hasOwn(json, name) ? (json as Record<string, unknown>)[name] : undefined
    if (value !== undefined && typeof value !== 'string') {
      throw oauthError(400, 'invalid_request', `${name} must be a string`)
    }
    if (value) parameters[name] = value
  }
  return parameters
}

interface BasicCredentials {
  clientId: string
  clientSecret: string
}

/** RFC 7617, with the form encoding of both halves that RFC 6749 §2.3.1 asks of clients. */
function readBasic(authorization: string | null): BasicCredentials | undefined {
  const [, encoded] = /^basic\b\s*(.*)$/i.exec(authorization?.trim() ?? '') ?? []
  if (encoded === undefined) return undefined
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
