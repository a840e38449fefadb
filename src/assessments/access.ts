import { sql } from 'drizzle-orm'
import { exportVersion } from '../../db/schema.ts'
import { apiError, HttpError } from '../answers.ts'
import { type NamedRow, type Runner, rawStatement, rowOf, text } from '../database/statement.ts'
import { sha256 } from '../random.ts'
import { recording } from './disclosure.ts'
import type { Sets } from './filters.ts'

/** The integration of a live token, whose scope has at least one organization and one product. */
export interface Access {
  clientId: string
  /** Equal for equal scopes. */
  scopeDigest: string
}

/** The 401 of the API (contract A3): one text for every token; without any, the realm alone (RFC 6750 §3.1). */
export function invalidToken(token: 'absent' | 'presented'): HttpError {
  const error = 'invalid_token'
  const error_description = 'The access token is invalid'
  const details = token === 'presented' ? `, error="${error}", error_description="${error_description}"` : ''
  const challenge = { 'www-authenticate': `Bearer realm="axport"${details}` }
  return new HttpError(401, { error, error_description }, challenge)
}

/** A token's digest, which the statement of the request checks. Throws HttpError 401 for none or for another form. */
export function tokenDigestOf(token: string): string {
  if (token === '') throw invalidToken('absent')
  if (!/^[A-Za-z0-9]{43}$/.test(token)) throw invalidToken('presented')
  return sha256(token)
}

/** The 400 of an integration without organizations or products (contract A4, A5). @param missing 'tenant' or 'product' */
export function unprovisioned(missing: string, clientId: string): HttpError {
  return apiError(400, `Invalid or missing ${missing} ids`, {}, { clientId })
}

/** What a live token may read, and the state of the database, at one moment. */
export interface Granted {
  access: Access
  sets: Sets
  /** Of the export. Null if somebody has deleted its row. */
  version: string | null
  /** Whether disclosures are recorded; see isRecorded(). */
  recording: Buffer | null
}

/** Looks a token and its scope up, by a statement of its own. Throws HttpError 401 or 400. */
export async function requireAccess(db: Runner, tokenDigest: string): Promise<Granted> {
  const [found] = await lookUp(db, { tokenDigest })
  const row = LIVE.read(found)
  const sets = { organizations: text(row.organizations) ?? '{}', products: text(row.products) ?? '{}' }
  return { access: accessOf(row), sets, version: text(row.version), recording: row.recording }
}

/** The columns of a `token` in a statement's row, for accessOf(). */
export const ACCESS = {
  clientId: sql`token.client_id`,
  scopeDigest: sql`token.scope_digest`,
  missing: sql`case
    when cardinality(token.organization_ids) = 0 then 'tenant'
    when cardinality(token.product_ids) = 0 then 'product'
  end`,
}

export type AccessRow = NamedRow<keyof typeof ACCESS>

/** Reads the columns of ACCESS. Null there means no live token. Throws HttpError 401 or 400. */
export function accessOf(row: AccessRow): Access {
  const [clientId, scopeDigest] = [text(row.clientId), text(row.scopeDigest)]
  if (clientId === null || scopeDigest === null) throw invalidToken('presented')
  const missing = text(row.missing)
  if (missing !== null) throw unprovisioned(missing, clientId)
  return { clientId, scopeDigest }
}

/** The version of the export, in the snapshot of a statement. */
export const version = sql`(select ${exportVersion.version} from ${exportVersion})`

/** The row of a statement that reads the token alone. */
const LIVE = rowOf({
  ...ACCESS,
  organizations: sql`token.organization_ids`,
  products: sql`token.product_ids`,
  version,
  recording,
})

const lookUp = rawStatement<{ tokenDigest: string }>(sql`
  select ${LIVE.list} from live_tokens as token where token.digest = ${sql.placeholder('tokenDigest')}::bytea`)
