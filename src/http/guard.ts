import { bearer } from '@elysiajs/bearer'
import { Elysia } from 'elysia'
import { apiError, HttpError } from '../answers.ts'
import type { Caller } from '../oauth/tokens.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Runner } from '../postgres/statement.ts'
import { sha256 } from '../random.ts'
import { CallerMemory } from './caller-memory.ts'
import { noteCaller } from './request-log.ts'

/**
 * The plugin also takes a token from the query, where it would end up in logs (RFC 9700 §4.3.2). It can not be
 * told not to, but under a name that nobody can know it finds nothing.
 */
const unguessable = () => crypto.randomUUID()

/** What a route does for its caller: see Answer in assessments/endpoints.ts. */
type Work = (
  caller: Caller,
  db: Runner,
) => Promise<{ caller: string | null | undefined; respond(): Response }>

/** Answers for the caller of a request, once it is known to be who it says. */
export type Authorized = (work: Work) => Promise<Response>

/**
 * Everything behind it has `authorized`, which answers for a live token's integration, or throws before
 * anything else of the request is looked at (design: token, provisioning, parameters, look-up).
 *
 * Who the caller is and the work do not wait for each other: the work is done for the caller that is
 * remembered, and the statement that does it says, in the same snapshot, whether the token is live and under
 * which scope. Otherwise it is done again for whom the database names. So a revoked token is refused, and a
 * changed scope honoured, by the very next request on every process.
 * @throws HttpError 401 invalid_token, or 400 for an integration that is not provisioned
 */
export function guard(db: Pool) {
  const callers = new CallerMemory(db)
  return new Elysia({ name: 'guard' })
    .derive({ as: 'scoped' }, ({ headers }) => {
      // RFC 9110 §11.1: the scheme is case-insensitive. The plugin compares it exactly.
      const scheme = /^bearer +/i
      headers.authorization = headers.authorization?.replace(scheme, 'Bearer ')
    })
    .use(bearer({ extract: { header: 'Bearer', query: unguessable(), body: unguessable() } }))
    .derive({ as: 'scoped' }, ({ headers, bearer: token, request }): { authorized: Authorized } => ({
      authorized: async work => {
        if (!headers.authorization?.startsWith('Bearer ')) throw invalidToken('absent')
        if (!isToken(token)) throw invalidToken('presented')
        const tokenDigest = sha256(token)
        const { caller, respond } = await verified(callers, tokenDigest, db.during(request), work)
        callers.used(tokenDigest)
        noteCaller(request, caller.clientId)
        return respond()
      },
    }))
}

/** Does the work for the caller behind a token, again for as long as the scope changes meanwhile. */
async function verified(
  callers: CallerMemory,
  tokenDigest: Buffer,
  db: Runner,
  work: Work,
): Promise<{ caller: Caller; respond(): Response }> {
  let caller = callers.recall(tokenDigest) ?? (await callers.find(db, tokenDigest))
  while (caller) {
    const { caller: seen, respond } = await outcome(work, caller, db)
    if (seen === caller.scopeDigest) return { caller, respond }
    // Nothing was asked of the database yet, or what it says is not what is remembered.
    const found = seen === null ? undefined : await callers.find(db, tokenDigest)
    if (found && seen === undefined && found.scopeDigest === caller.scopeDigest) return { caller, respond }
    if (!found) callers.forget(tokenDigest)
    caller = found
  }
  throw invalidToken('presented')
}

/** What the work comes to; where that is an error of the request, nobody has verified yet who may know it. */
async function outcome(work: Work, caller: Caller, db: Runner): ReturnType<Work> {
  try {
    requireProvisioning(caller)
    return await work(caller, db)
  } catch (error) {
    if (!(error instanceof HttpError)) throw error
    return {
      caller: undefined,
      respond: () => {
        throw error
      },
    }
  }
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

/** Spec 5, rule 9: not cured by retrying; the operator must attach organizations or assessments. */
export function requireProvisioning(caller: Pick<Caller, 'organizationIds' | 'productIds'>): void {
  if (caller.organizationIds.length === 0) throw apiError(400, 'Invalid or missing tenant ids')
  if (caller.productIds.length === 0) throw apiError(400, 'Invalid or missing product ids')
}
