import { sql } from 'drizzle-orm'
import { apiError, HttpError } from '../answers.ts'
import { type RawRow, text } from '../postgres/raw-rows.ts'
import { type Runner, rawStatement } from '../postgres/statement.ts'
import { sha256 } from '../random.ts'

/** The integration behind a live token, with a scope that holds an organization and a product at least. */
export interface Access {
  clientId: string
  /** Names the two sets of the scope: the same for the same sets. */
  scope: string
  /** How many organizations the scope has. */
  organizations: number
}

/**
 * The 401 of a request (spec 7.1): one text for missing, malformed, unknown, expired and revoked. Only the challenge
 * differs: a client that presented nothing is told the realm alone (RFC 6750 §3.1).
 */
export function invalidToken(token: 'absent' | 'presented'): HttpError {
  const error = 'invalid_token'
  const error_description = 'The access token is invalid'
  const details = token === 'presented' ? `, error="${error}", error_description="${error_description}"` : ''
  const challenge = { 'www-authenticate': `Bearer realm="axport"${details}` }
  return new HttpError(401, { error, error_description }, challenge)
}

/**
 * The digest of the token in an Authorization header. Whether it is live is checked by the statement that does the work,
 * in its own snapshot: the very next request after a revocation or a change of scope sees it, on every process.
 * @throws HttpError 401 for a header that is missing or has no token of our form, without asking the database
 */
export function tokenDigestOf(authorization: string | null): Buffer {
  // RFC 9110 §11.1: the scheme is case-insensitive.
  const [, token] = /^bearer +(.*)$/i.exec(authorization ?? '') ?? []
  if (token === undefined) throw invalidToken('absent')
  if (!/^[A-Za-z0-9]{43}$/.test(token)) throw invalidToken('presented')
  return sha256(token)
}

/** The 400 where operators must attach organizations or products, which no retry cures (spec 5, rule 9; 7.1). */
export function unprovisioned(missing: 'tenant' | 'product', clientId: string): HttpError {
  return apiError(400, `Invalid or missing ${missing} ids`, {}, { clientId })
}

/**
 * Looks a token up, for a request that asks nothing else of the database, or before its first page.
 * @throws HttpError 401 or 400
 */
export async function requireAccess(db: Runner, tokenDigest: Uint8Array): Promise<Access> {
  const [row] = await lookUp(db, { token: tokenDigest })
  return accessOf(row)
}

/** The columns of `access` in a statement whose `token` is one of live_token(), for accessOf(). */
export const ACCESS = sql`
  token.client_id, token.scope_digest,
  cardinality(token.organization_ids) as organizations, cardinality(token.product_ids) as products`

/**
 * Reads the columns of ACCESS, which come first in a row; no row, or null in it, stands for no live token.
 * @throws HttpError 401 or 400
 */
export function accessOf(row: RawRow | undefined): Access {
  const [clientId, scope, organizations, products] = (row ?? []).slice(0, 4).map(text)
  if (clientId == null || scope == null) throw invalidToken('presented')
  if (organizations === '0') throw unprovisioned('tenant', clientId)
  if (products === '0') throw unprovisioned('product', clientId)
  return { clientId, scope, organizations: Number(organizations) }
}

const lookUp = rawStatement<{ token: Uint8Array }>(sql`
  select ${ACCESS} from live_token(${sql.placeholder('token')}::bytea) as token`)
