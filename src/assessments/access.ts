import { sql } from 'drizzle-orm'
import { apiError, HttpError } from '../answers.ts'
import { type RawRow, type Runner, rawStatement, text } from '../postgres/statement.ts'

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
