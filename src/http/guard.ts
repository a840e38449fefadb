import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'
import { apiError, HttpError } from '../answers.ts'
import type { Refusal } from '../assessments/access.ts'
import { sha256 } from '../random.ts'

/**
 * The plugin also takes a token from the query, where it would end up in logs (RFC 9700 §4.3.2). It can not be
 * told not to, but under a name that nobody can know it finds nothing.
 */
const unguessable = () => crypto.randomUUID()

/**
 * Everything behind it has `tokenDigest`: of a token that has the form of ours, whoever it belongs to. The statement that
 * does the work says itself, in its own snapshot, what the token gives access to. So a revoked token is refused, and a
 * changed scope honoured, by the very next request on every process.
 * @throws HttpError 401 invalid_token
 */
export function guard() {
  return new Elysia({ name: 'guard' })
    .derive({ as: 'scoped' }, ({ headers }) => {
      // RFC 9110 §11.1: the scheme is case-insensitive. The plugin compares it exactly.
      const scheme = /^bearer +/i
      headers.authorization = headers.authorization?.replace(scheme, 'Bearer ')
    })
    .use(bearer({ extract: { header: 'Bearer', query: unguessable(), body: unguessable() } }))
    .derive({ as: 'scoped' }, ({ headers, bearer: token }) => {
      if (!headers.authorization?.startsWith('Bearer ')) throw invalidToken('absent')
      if (!isToken(token)) throw invalidToken('presented')
      return { tokenDigest: sha256(token) }
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
export function invalidToken(token: 'absent' | 'presented'): HttpError {
  const error = 'invalid_token'
  const description = 'The access token is invalid'
  const details = token === 'presented' ? `, error="${error}", error_description="${description}"` : ''
  return new HttpError(
    401,
    { error, error_description: description },
    { 'www-authenticate': `Bearer realm="axport"${details}` },
  )
}

/** 401, or 400 where operators must attach organizations or products, which no retry cures (spec 5, rule 9). */
export function refusal(of: Refusal): HttpError {
  if (of.kind === 'unauthorized') return invalidToken('presented')
  return apiError(400, `Invalid or missing ${of.missing === 'organizations' ? 'tenant' : 'product'} ids`)
}
