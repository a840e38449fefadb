import { Type as t } from '@sinclair/typebox'
import type { Sql } from 'postgres'
import { jsonResponse, withFacts } from '../answers.ts'
import { invalidClient, NOT_STORED, oauthError, readTokenRequest } from './credentials.ts'
import { issueToken, TOKEN_LIFETIME } from './tokens.ts'

/** Bytes of a token request's body. The three fields need a few hundred. */
const MAX_BODY = 16 * 1024

/** Spec 2.4. */
export const TokenResponse = t.Object({
  access_token: t.String({ description: 'Opaque bearer token.' }),
  token_type: t.Literal('Bearer'),
  expires_in: t.Integer({ description: 'Lifetime in seconds; 7200.' }),
  created_at: t.Integer({ description: 'Creation time as a Unix timestamp (seconds).' }),
})

/** POST /oauth/token (spec 4.1): client credentials for an access token. Reads the body itself. */
export async function issueAccessToken(db: Sql, request: Request): Promise<Response> {
  const body = await readLimited(request)
  const contentType = request.headers.get('content-type')
  const client = readTokenRequest(contentType, body, request.headers.get('authorization'))
  const issued = await issueToken(db, client.clientId, client.clientSecret)
  if (!issued) throw invalidClient()
  const response: typeof TokenResponse.static = {
    access_token: issued.accessToken,
    token_type: 'Bearer',
    expires_in: TOKEN_LIFETIME,
    created_at: issued.createdAt,
  }
  // Only now: what is no client's id may be a secret in the wrong place.
  return withFacts(jsonResponse(200, JSON.stringify(response), NOT_STORED), { clientId: client.clientId })
}

/** Stops reading at the limit, so that a large body costs its sender more than us. */
async function readLimited(request: Request): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  const body = (request.body ?? []) as AsyncIterable<Uint8Array>
  for await (const chunk of unbroken(body)) {
    length += chunk.byteLength
    if (length > MAX_BODY)
      throw oauthError(413, 'invalid_request', `The body is larger than ${MAX_BODY} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** A client that hangs up in the middle is its own fault and nothing unforeseen. */
async function* unbroken(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch {
    throw oauthError(400, 'invalid_request', 'The body broke off')
  }
}
