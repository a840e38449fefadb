import { sql } from 'drizzle-orm'
import { type RawRow, text } from '../postgres/raw-rows.ts'
import type { Runner } from '../postgres/statement.ts'
import { rawStatement } from '../postgres/statement.ts'

/** Why a token is not let through: 401, or 400 for an integration without organizations or products (spec 7.1). */
export type Refusal =
  | { kind: 'unauthorized' }
  | { kind: 'unprovisioned'; clientId: string; missing: 'organizations' | 'products' }

/** What a page request comes to; the documents are joined by commas, as UTF-8, and `size` says how many they are. */
export type PageOutcome =
  | Refusal
  | { kind: 'page'; clientId: string; count: number; documents: Uint8Array; size: number }

/** What a request for a single record comes to; `document` is its finished JSON, as UTF-8. */
export type RecordOutcome =
  | Refusal
  | { kind: 'record'; clientId: string; document: Uint8Array }
  | { kind: 'absent'; clientId: string }

/** The integration behind a live token, with a scope that holds an organization and a product at least. */
export interface Access {
  kind: 'access'
  clientId: string
  /** Names the two sets of the scope: the same for the same sets. */
  scope: string
  /** How many organizations the scope has. */
  organizations: number
}

/** Looks a token up, for a request that asks nothing else of the database, or before its first page. */
export async function requireAccess(db: Runner, tokenDigest: Uint8Array): Promise<Access | Refusal> {
  const [row] = await lookUp(db, { token: tokenDigest })
  return accessOf(row)
}

/** The columns of `access` in a statement whose `token` is one of live_token(), for accessOf(). */
export const ACCESS = sql`
  token.client_id, token.scope_digest,
  cardinality(token.organization_ids) as organizations, cardinality(token.product_ids) as products`

/** Reads the columns of ACCESS, which come first in a row; no row, or null in it, stands for no live token. */
export function accessOf(row: RawRow | undefined): Access | Refusal {
  const [clientId, scope, organizations, products] = (row ?? []).slice(0, 4).map(text)
  if (clientId == null || scope == null) return { kind: 'unauthorized' }
  if (organizations === '0') return { kind: 'unprovisioned', clientId, missing: 'organizations' }
  if (products === '0') return { kind: 'unprovisioned', clientId, missing: 'products' }
  return { kind: 'access', clientId, scope, organizations: Number(organizations) }
}

const lookUp = rawStatement<{ token: Uint8Array }>(sql`
  select ${ACCESS} from live_token(${sql.placeholder('token')}::bytea) as token`)
