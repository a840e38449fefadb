import { isUtf8 } from 'node:buffer'
import { HttpError, type LogFields } from '../answers.ts'
import type { TokenRequest } from '../contract.ts'

/**
 * The credentials of a token request, from its body or from HTTP Basic, not both (RFC 6749 §2.3). @throws HttpError 400 or
 * 401
 */
export function credentialsOf(
  { client_id: id, client_secret: secret }: TokenRequest,
  authorization = '',
): ClientCredentials {
  // A repeated header arrives as one, joined by a comma (RFC 9110 §5.3). No blank follows a name in `Digest a="…", b="…"`.
  if (/, *[\w!#$%&'*+.^`|~-]+(?: |$)/.test(authorization))
    throw oauthError(400, 'The Authorization header must not be repeated')
  // RFC 9110 §11.1: the scheme is case-insensitive.
  const [, encoded] = /^basic(?:\s+|$)(.*)$/i.exec(authorization) ?? []
  if (encoded !== undefined && secret)
    throw oauthError(400, 'Send the client credentials in the header or in the body, not in both')
  const [clientId, clientSecret] = encoded === undefined ? [id, secret] : readBasic(encoded)
  if (!clientId || !clientSecret || (id && id !== clientId)) throw invalidClient()
  return { clientId, clientSecret }
}

/** The 400 of a request without a grant_type that is supported. */
export function unsupportedGrantType(description = 'grant_type must be client_credentials'): HttpError {
  return oauthError(400, description, {}, {}, 'unsupported_grant_type')
}

/** The only 401 of this endpoint, whatever is wrong. @param logFields the client id of an existing integration */
export function invalidClient(logFields?: LogFields): HttpError {
  const headers = { 'www-authenticate': 'Basic realm="axport", charset="UTF-8"' }
  return oauthError(401, 'Client authentication failed', headers, logFields)
}

/** Headers of every answer of the token endpoint, errors too (RFC 6749 §5.1). */
export const NOT_STORED = { 'cache-control': 'no-store', pragma: 'no-cache' }

/** RFC 6749 defines those of 499 and above for the authorization endpoint (§4.1.2.1), and none for this one. */
const CODES: Record<number, string> = {
  401: 'invalid_client',
  499: 'temporarily_unavailable',
  500: 'server_error',
  503: 'temporarily_unavailable',
  504: 'temporarily_unavailable',
}

/** An error of the token endpoint. `description` is ASCII without quotes or backslashes (RFC 6749 §5.2). */
export function oauthError(
  status: number,
  error_description: string,
  headers?: Record<string, string>,
  logFields?: LogFields,
  error = CODES[status] ?? 'invalid_request',
): HttpError {
  return new HttpError(status, { error, error_description }, { ...NOT_STORED, ...headers }, logFields)
}

/** The credentials of a token request. */
export interface ClientCredentials {
  clientId: string
  clientSecret: string
}

/**
 * Client id and secret of HTTP Basic: base64 with its padding, of UTF-8 with a colon and without control characters (RFC
 * 7617 §2). Both are form-encoded (RFC 6749 §2.3.1). @throws HttpError 401
 */
function readBasic(encoded: string): [id: string, secret: string] {
  const bytes = Buffer.from(encoded, 'base64')
  const text = bytes.toString('utf8')
  const isBasic = bytes.toString('base64') === encoded && isUtf8(bytes) && !/[\0-\x1f\x7f]/.test(text)
  const [id = '', ...secret] = isBasic ? text.split(':') : []
  return [formDecoded(id), formDecoded(secret.join(':'))]
}

/** Some libraries do not encode: text that does not decode is used as it is. */
function formDecoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}
