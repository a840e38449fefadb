import { sql } from 'drizzle-orm'
import { exportState, organizationVersions, exportRecords as r } from '../../db/schema.ts'
import { type Runner, statement } from '../postgres/statement.ts'
import type { Values } from './conditions.ts'
import type { Edge } from './page-memory.ts'
import { type PageRow, pageStatement, readPageRow, type Way } from './page-statement.ts'
import type { Order, Sort } from './parameters.ts'

/** One page to be read, of the records that match. */
export interface PageRequest {
  sort: Sort
  order: Order
  /** Names of the filters' conditions, and the values of their placeholders, of the two sets and the token. */
  filters: string[]
  values: Values
  way: Way
  /** Read from behind this record (or from the end backward), and skip `skip` records from there. */
  after: Edge | undefined
  isBackward: boolean
  skip: number
  limit: number
  /** Count all that match as well. */
  withCount: boolean
}

/** Reads a page, and with it the version and whether the token is live. */
export async function selectPage(db: Runner, request: PageRequest): Promise<PageRow> {
  const { values, after, skip, limit } = request
  const all = { ...values, skip, limit, after_key: after?.key, after_id: after?.id }
  const shape = { ...request, isSeek: after !== undefined, isSkip: skip > 0 }
  const [row] = await pageStatement(shape)(db, all)
  if (!row) throw new Error('the page statement returned no row')
  return readPageRow(row)
}

/** The present version, and the one at which any of these organizations (a bigint[] as text) last changed. */
export async function selectVersions(
  db: Runner,
  organizations: string,
): Promise<{ now: bigint; changed: bigint }> {
  const [row] = await versions(db, { organizations })
  if (!row) throw new Error('export_state is empty')
  return { now: BigInt(row.now), changed: BigInt(row.changed) }
}

/** What there is for a live token: the finished JSON of an assessment, if it is in the token's scope. */
export interface RetrievedRow {
  /** The digest of the scope. */
  caller: string
  document: string | null
}

/** An assessment in the scope of a live token; undefined when the token is not. `id` must be within bigint. */
export async function selectDocument(
  db: Runner,
  tokenDigest: Uint8Array,
  id: string,
): Promise<RetrievedRow | undefined> {
  const [row] = await retrieve(db, { id, token: tokenDigest })
  return row
}

const retrieve = statement<Values, RetrievedRow>(sql`
  select token.scope_digest as caller, ${r.document} as document
  from live_token(${sql.placeholder('token')}::bytea) as token
  left join ${r} on ${r.id} = ${sql.placeholder('id')}::bigint
    and ${r.organizationId} = any (token.organization_ids)
    and ${r.productId} = any (token.product_ids)`)

const versions = statement<Values, { now: string; changed: string }>(sql`
  select ${exportState.version} as now, coalesce((
    select max(${organizationVersions.version}) from ${organizationVersions}
    where ${organizationVersions.organizationId} = any (${sql.placeholder('organizations')}::bigint[])
  ), 0) as changed
  from ${exportState}`)
