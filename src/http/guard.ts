import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'
import { apiError, HttpError } from '../answers.ts'
import { type Caller, findCaller } from '../oauth/tokens.ts'
import type { Pool } from '../postgres/pool.ts'
import { noteCaller } from './request-log.ts'

/**
 * The plugin also takes a token from the query or the body, where it would end up in logs (RFC 9700
 * §4.3.2). It can not be told not to, but under a name that nobody can know it finds nothing.
 */
const unguessable = () => crypto.randomUUID()

/**
 * Everything behind it has a `caller`: a live token's integration, with organizations and products to
 * read. Checked before anything else of the request (design: token, provisioning, parameters, look-up).
 * @throws HttpError 401 invalid_token, or 400 for an integration that is not provisioned
 */
export function guard(db: Pool) {
  return new Elysia({ name: 'guard' })
    .derive({ as: 'scoped' }, ({ headers }) => {
      // RFC 9110 §11.1: the scheme is case-insensitive. The plugin compares it exactly.
      const scheme = /^bearer +/i
      headers.authorization = headers.authorization?.replace(scheme, 'Bearer ')
    })
    .use(bearer({ extract: { header: 'Bearer', query: unguessable(), body: unguessable() } }))
    .derive({ as: 'scoped' }, async ({ headers, bearer: token, request }): Promise<{ caller: Caller }> => {
      if (!headers.authorization?.startsWith('Bearer ')) throw invalidToken('absent')
      const caller = isToken(token) ? await findCaller(db.during(request), token) : undefined
      if (!caller) throw invalidToken('presented')
      noteCaller(request, caller.clientId)
      requireProvisioning(caller)
      return { caller }
    })
}

/** The form of our own tokens; what looks otherwise needs no question to the database. */
function isToken(text: string | undefined): text is string {
  return text !== undefined && /^[A-Za-z0-9]{43}$/.test(text)
}

/**
 * One text for missing, malformed, unknown, expired and revoked. Only the challenge differs: a client
 * that presented nothing is told the realm alone (RFC 6750 §3.1).
 */
function invalidToken(token: 'absent' | 'presented'): HttpError {
  const error = 'invalid_token'
  const description = 'The access token is invalid'
  const details = token === 'presented' ? `, error="${error}", error_description="${description}"` : ''
  return new HttpError(
    401,
    { error, error_description: description },
    { 'www-authenticate': `Bearer realm="axport"${details}` },
  )
}

/** Spec 5, rule 9: not cured by retrying; the operator must attach organizations or assessments. */
function requireProvisioning(caller: Caller): void {
  if (caller.organizationIds.length === 0) throw apiError(400, 'Invalid or missing tenant ids')
  if (caller.productIds.length === 0) throw apiError(400, 'Invalid or missing product ids')
}
