import { Type as t } from '@sinclair/typebox'
import type { Answer } from '../answers.ts'
import type { Runner } from '../postgres/statement.ts'
import { clientOf, invalidClient, NOT_STORED, type TokenParameters } from './credentials.ts'
import { issueToken, TOKEN_LIFETIME } from './tokens.ts'

/** The answer to a token request (spec 2.4). */
export const TokenResponse = t.Object({
  access_token: t.String({ description: 'Opaque bearer token.' }),
  token_type: t.Literal('Bearer', { description: 'Always Bearer.' }),
  expires_in: t.Integer({ description: 'Lifetime in seconds; 7200.' }),
  created_at: t.Integer({ format: 'int64', description: 'Creation time as a Unix timestamp (seconds).' }),
})

/**
 * POST /oauth/token (spec 4.1): exchanges client credentials for an access token.
 * @throws HttpError 400 or 401
 */
export async function issueAccessToken(
  db: Runner,
  parameters: TokenParameters,
  authorization: string | null,
): Promise<Answer> {
  const { clientId, clientSecret } = clientOf(parameters, authorization)
  const issued = await issueToken(db, clientId, clientSecret)
  // The log gets the client id only if it exists: anything else may be a secret in the wrong field.
  if (issued.accessToken === undefined) throw invalidClient(issued.isKnownClient ? { clientId } : {})
  const response: typeof TokenResponse.static = {
    access_token: issued.accessToken,
    token_type: 'Bearer',
    expires_in: TOKEN_LIFETIME,
    created_at: issued.createdAt,
  }
  return { status: 200, headers: NOT_STORED, body: JSON.stringify(response), logFields: { clientId } }
}
