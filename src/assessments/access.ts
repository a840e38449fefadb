import { sql } from 'drizzle-orm'
import { apiError, HttpError } from '../answers.ts'
import { type NamedRow, type Runner, rawStatement, rowOf, text } from '../postgres/statement.ts'
import { sha256 } from '../random.ts'

/** The integration of a live token, whose scope has at least one organization and one product. */
export interface Access {
  clientId: string
  /** The scope digest: equal for equal scopes. */
  scope: string
  /** How many organizations the scope has. */
  organizations: number
}

/** The 401 of the API (spec 7.1): one text for every token; without any, the realm alone (RFC 6750 §3.1). */
export function invalidToken(token: 'absent' | 'presented'): HttpError {
  const error = 'invalid_token'
  const error_description = 'The access token is invalid'
  const details = token === 'presented' ? `, error="${error}", error_description="${error_description}"` : ''
  const challenge = { 'www-authenticate': `Bearer realm="axport"${details}` }
  return new HttpError(401, { error, error_description }, challenge)
}

/** A token's digest, which the statement of the request checks. Throws HttpError 401 for none or for another form. */
export function tokenDigestOf(token: string): Buffer {
  if (token === '') throw invalidToken('absent')
  if (!/^[A-Za-z0-9]{43}$/.test(token)) throw invalidToken('presented')
  return sha256(token)
}

/** The 400 of an integration without organizations or products (spec 5, rule 9; 7.1). */
export function unprovisioned(missing: 'tenant' | 'product', clientId: string): HttpError {
  return apiError(400, `Invalid or missing ${missing} ids`, {}, { clientId })
}

/** Looks a token up for a request that reads nothing else, or for the page memory. Throws HttpError 401 or 400. */
export async function requireAccess(db: Runner, tokenDigest: Uint8Array): Promise<Access> {
  const [row] = await lookUp(db, { token: tokenDigest })
  return accessOf(row && access.read(row))
}

/** The columns of a `token` in a statement's row, for accessOf(). */
export const ACCESS = {
  clientId: sql`token.client_id`,
  scope: sql`token.scope_digest`,
  organizations: sql`cardinality(token.organization_ids)`,
  products: sql`cardinality(token.product_ids)`,
}

/** Reads the columns of ACCESS. No row, or null there, means no live token. Throws HttpError 401 or 400. */
export function accessOf(row: NamedRow<keyof typeof ACCESS> | undefined): Access {
  const [clientId, scope, organizations] = [text(row?.clientId), text(row?.scope), text(row?.organizations)]
  if (clientId === null || scope === null) throw invalidToken('presented')
  if (organizations === '0') throw unprovisioned('tenant', clientId)
  if (text(row?.products) === '0') throw unprovisioned('product', clientId)
  return { clientId, scope, organizations: Number(organizations) }
}

/** The row of a statement that reads the token alone. */
const access = rowOf(ACCESS)

const lookUp = rawStatement<{ token: Uint8Array }>(sql`
  select ${access.list} from live_tokens as token where token.digest = ${sql.placeholder('token')}::bytea`)
